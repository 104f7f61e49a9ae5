// The page of a site: it listens to the statistics of one policy, and shows them.

import { clock, lines, number, shares } from "/charts.js";
import { askToRollBack, showComparison } from "/comparison.js";
import { showRecent } from "/decisions.js";
import { at, bar, element } from "/dom.js";
import { watchLatencies } from "/latency.js";
import { alarms as serviceAlarms, showModel } from "/model.js";
import { watchReplicas } from "/replicas.js";

const COLORS = ["#1b6e53", "#d98e04", "#3a6ea5", "#a44a6c", "#7a8b2f", "#6b5ca5", "#c4552d", "#4b8f8c"];
const REST = "#9aa3a8";
const [ACCENT, OTHER] = ["#1b8a66", "#b9780a"];
let [key, policy, listening] = [sessionStorage.getItem("key") ?? "", null, null];

async function ask(path, options = {}) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  throw Object.assign(new Error(error), { status: answer.status });
}

const site = { ask, api: (rest) => api(rest), get policy() { return policy; } };
const api = (rest) => `/v1/policies/${encodeURIComponent(policy)}${rest}`;

async function start() {
  if ("needsKey" in document.documentElement.dataset && !key) {
    askForKey("");
    return;
  }
  try {
    const policies = await (await ask("/v1/policies")).json();
    at("login").hidden = true;
    watchReplicas(ask);
    watchLatencies(ask);
    at("policy").replaceChildren(...policies.map(({ name }) => new Option(name)));
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (policies.some(({ name }) => name === wanted)) at("policy").value = wanted;
    if (policies.length) follow(at("policy").value);
    else say("no policy yet");
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      askForKey(error.message);
      return;
    }
    say(`not connected: ${error.message}`);
    setTimeout(start, 2000);
  }
}

function askForKey(refusal) {
  at("login").hidden = false;
  at("refused").textContent = refusal;
  say("a key is needed");
}

async function follow(name) {
  listening?.abort();
  listening = new AbortController();
  const own = listening;
  policy = name;
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  while (!own.signal.aborted) {
    try {
      await listen(own);
      say("connecting again");
    } catch (error) {
      if (own.signal.aborted) return;
      say(`not connected: ${error.message}`);
    }
    await new Promise((resume) => setTimeout(resume, 1500));
  }
}

async function listen(own) {
  const answer = await ask(api("/statistics/stream"), { signal: own.signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    const last = parts.filter((part) => part.startsWith("data: ")).at(-1);
    if (last && !own.signal.aborted) show(JSON.parse(last.slice(6)));
  }
}

function say(state) {
  at("state").textContent = state;
}

function show(data) {
  say(`event ${number(data.number)}, ${clock(data.time)}`);
  at("empty").hidden = data.decisions > 0;
  at("origin").textContent = location.origin;
  at("named").textContent = policy;
  showFigures(data);
  showAlarms(data);
  showExploration(data);
  showComparison(site, data);
  showRewards(data);
  showActions(data);
  showLags(data);
  showRecent(site, data);
  showModel(site);
}

function showFigures(data) {
  const [mean, low, high] = data.earned;
  const [uniform] = data.uniform;
  const explored = data.decisions ? `${number((100 * data.explored) / data.decisions)} %` : "–";
  const figures = [
    ["earned per decision", number(mean), low === null ? "" : `${number(low)} to ${number(high)}`],
    ["uniform would earn", number(uniform), data.uniform[1] === null ? "" : `${number(data.uniform[1])} to ${number(data.uniform[2])}`],
    ["lift over uniform", uniform ? `${number(100 * (mean / uniform - 1))} %` : "–", ""],
    ["decisions", number(data.decisions), perSecond(data)],
    ["rewards", number(data.rewards), `${number(data.defaults)} by default, ${number(data.late)} late`],
    ["awaited", number(data.awaited), data.oldest_awaited ? `oldest ${clock(data.oldest_awaited)}` : ""],
    ["explored", explored, "not the likeliest action"],
    ["effective sample", number(data.effective_size), "for estimates of uniform"],
  ];
  at("figures").replaceChildren(...figures.map(([name, value, note]) => {
    const figure = element("div", "", "figure");
    figure.append(element("span", name), element("b", value), element("span", note));
    return figure;
  }));
}

function perSecond({ times, width_ms }) {
  const last = times.at(-2) ?? times.at(-1);
  return last ? `${number((1000 * last.decisions) / width_ms)} a second` : "";
}

function showAlarms(data) {
  const alarms = [...serviceAlarms];
  const { earned, uniform, times } = data;
  if (earned[2] !== null && uniform[1] !== null && earned[2] < uniform[1]) alarms.push("It earns less than uniform choices would.");
  const late = times.slice(-10);
  const isOld = data.oldest_awaited && data.time - data.oldest_awaited > 60000;
  if (late.length === 10 && isOld && late.every((each) => each.rewards === 0)) alarms.push("No rewards have come for the latest decisions.");
  if (data.rewards > 100 && data.defaults === data.rewards) alarms.push("All rewards are defaults: is anybody sending rewards?");
  if (data.decisions > 1000 && data.effective_size < data.rewards / 100) alarms.push("It hardly explores: the log supports few estimates of other policies.");
  at("alarms").replaceChildren(...alarms.map((text) => element("li", text)));
}

function showRewards({ times }) {
  const known = times.filter((each) => each.earned[0] !== null);
  const series = [
    { name: "earned", color: ACCENT, points: known.map((each) => each.earned) },
    { name: "uniform, estimated", color: OTHER, dashed: true, points: known.map((each) => each.uniform) },
  ];
  lines(at("reward-chart"), series, known.map((each) => each.time), "reward per decision");
}

function showExploration({ times }) {
  const known = times.filter((each) => each.decisions > 0);
  const series = [
    { name: "effective sample for each reward", color: OTHER, dashed: true, points: known.map((each) => [each.effective_share, null, null]) },
    { name: "explored", color: ACCENT, points: known.map((each) => [each.explored / each.decisions, null, null]) },
  ];
  lines(at("exploration-chart"), series, known.map((each) => each.time), "exploration");
}

function showActions({ times, actions }) {
  const names = Object.keys(actions).slice(0, COLORS.length);
  const share = (each, name) => (each.actions[name] ?? 0) / Math.max(each.decisions, 1);
  const known = times.filter((each) => each.decisions > 0);
  const series = names.map((name, index) => ({ name, color: COLORS[index], points: known.map((each) => share(each, name)) }));
  if (Object.keys(actions).length > names.length) {
    const rest = known.map((_, index) => Math.max(0, 1 - series.reduce((sum, each) => sum + each.points[index], 0)));
    series.push({ name: "others", color: REST, points: rest });
  }
  shares(at("actions-chart"), series, known.map((each) => each.time));
}

function showLags({ lags }) {
  const most = Math.max(1, ...lags.map(([, n]) => n));
  const words = { 1: "1 s", 5: "5 s", 30: "30 s", 60: "1 min", 300: "5 min", 600: "10 min", 3600: "1 h", 86400: "1 day" };
  at("lags").replaceChildren(...lags.map(([bound, n]) => bar(bound ? `within ${words[bound]}` : "later", n / most, number(n))));
}

at("policy").addEventListener("change", () => follow(at("policy").value));
at("roll-back-go").addEventListener("click", () => askToRollBack(site));
at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  key = at("key").value;
  sessionStorage.setItem("key", key);
  start();
});
start();
