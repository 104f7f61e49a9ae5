// Off-policy comparison: what other policies would have earned in the logged decisions; promotion and roll-back.

import { clock, number } from "/charts.js";
import { at, element, fill, row } from "/dom.js";

const EVERY_MS = 3000;
const MAX_TIMES = 12;
const HEADINGS = [["policy"], ["would earn", "number"], ["95 % interval", "number"], ["effective sample", "number"], ["difference"]];
let [statusAt, status, statusOf] = [0, null, null];

// `site` has the policy's name, `ask` and `api`, as the page uses them.
export async function showComparison(site, data) {
  if (statusOf !== site.policy) [statusAt, status, statusOf] = [0, null, site.policy];
  if (Date.now() - statusAt > EVERY_MS) {
    statusAt = Date.now();
    const wanted = site.policy;
    const found = await site.ask(site.api("")).then((answer) => answer.json(), () => null);
    if (wanted !== site.policy) return;
    status = found;
  }
  const rows = [row("td", [element("strong", `${site.policy}, as it served`), [number(data.earned[0]), "number"], [range(data.earned), "number"], [number(data.rewards), "number"], ""])];
  for (const { policy, estimate, effective_size } of data.comparison) {
    rows.push(row("td", [policy, [number(estimate[0]), "number"], [range(estimate), "number"], [number(effective_size), "number"], ""]));
  }
  const { control, lift, shadows } = status?.estimates ?? { shadows: {} };
  if (control?.n) rows.push(row("td", ["control group", [number(control.mean), "number"], [range([0, ...(control.interval ?? [null])]), "number"], [number(control.n), "number"], `${signed(lift)} in favour of the policy`]));
  for (const [name, each] of Object.entries(shadows)) rows.push(shadowRow(site, name, each));
  fill(at("comparison"), HEADINGS, rows);
  showTimes(data);
}

function shadowRow(site, name, each) {
  const act = element("div", "", "act");
  const promote = element("button", "Promote");
  promote.setAttribute("aria-label", `Promote ${name}`);
  promote.addEventListener("click", () => askToPromote(site, name, each));
  act.append(signed(each), promote);
  const served = status.estimates.served.mean;
  const mean = each.mean === null || served === null ? null : served + each.mean;
  return row("td", [`${name} (shadow)`, [number(mean), "number"], ["", "number"], [number(each.effective_sample_size), "number"], act]);
}

function signed({ mean, interval }) {
  if (mean === null) return "no estimate yet";
  return interval ? `${number(mean)} (${number(interval[0])} to ${number(interval[1])})` : number(mean);
}

function range([, low, high]) {
  return low === null || low === undefined ? "" : `${number(low)} to ${number(high)}`;
}

// The latest times that the policy can go back to.
function showTimes({ times, width_ms, number: last }) {
  const choice = at("back-to");
  if (choice.matches(":focus")) return;
  const earlier = times.filter((each) => each.number && each.number < last).slice(-MAX_TIMES).reverse();
  const chosen = choice.value;
  choice.replaceChildren(...earlier.map((each) => new Option(`${clock(each.time + width_ms)}, event ${number(each.number)}`, each.number)));
  if (earlier.some((each) => String(each.number) === chosen)) choice.value = chosen;
  at("roll-back").hidden = !earlier.length;
}

// Without certainty that it is better, the service promotes only by force.
function askToPromote(site, challenger, { mean, interval }) {
  const isCertain = interval !== null && interval[0] > 0;
  const doubt = `It is not certain that ${challenger} is better: the difference is ${signed({ mean, interval })}. `;
  const text = `${isCertain ? "" : doubt}${challenger} and ${site.policy} exchange their models; a second time takes it back.`;
  confirmed(`Promote ${challenger}?`, text, isCertain ? "Promote" : "Promote anyway", async () => {
    await send(site, "/promote", { challenger, force: !isCertain });
    return `${challenger} was promoted.`;
  });
}

export function askToRollBack(site) {
  const [choice] = at("back-to").selectedOptions;
  const text = `${site.policy} gets the model that it had at ${choice.text}. Its log stays as it is.`;
  confirmed(`Roll back ${site.policy}?`, text, "Roll back", async () => {
    await send(site, "/rollback", { number: Number(choice.value) });
    return `${site.policy} was rolled back to ${choice.text}.`;
  });
}

function send(site, path, body) {
  statusAt = 0;
  return site.ask(site.api(path), { method: "POST", body: JSON.stringify(body) });
}

// Ask before something is done; where the service refuses it, say why.
function confirmed(title, text, verb, act) {
  const [dialog, go, told] = [at("confirm"), at("confirm-go"), at("confirm-text")];
  at("confirm-title").textContent = title;
  told.textContent = text;
  [go.textContent, go.disabled] = [verb, false];
  go.onclick = async () => {
    go.disabled = true;
    try {
      at("done").textContent = await act();
      dialog.close();
    } catch (error) {
      told.textContent = error.message;
    }
  };
  dialog.showModal();
}
