// The latest decisions, and the explanation of one.

import { clock, number } from "/charts.js";
import { at, element, fill, row } from "/dom.js";

const DAY_MS = 86400000;
const HEADINGS = [["time"], ["action"], ["probability", "number"], ["reward", "number"], ["context"], ["explanation"]];

// `site` has `ask` and `api`, as the page uses them.
export function showRecent(site, { recent, time }) {
  const rows = recent.slice(0, 15).map((each) => {
    const words = Object.entries(each.context).map(([name, value]) => `${name} ${value ?? "–"}`);
    const when = time - each.time > DAY_MS ? new Date(each.time).toLocaleString("en-GB") : clock(each.time);
    const why = element("button", "Why?");
    why.setAttribute("aria-label", `Why ${each.action} at ${when}?`);
    why.addEventListener("click", () => explain(site, each.event_id));
    const reward = each.reward === null ? "awaited" : number(each.reward);
    return row("td", [when, each.action, [number(each.probability), "number"], [reward, "number"], [words.join(", "), "context"], why]);
  });
  fill(at("recent"), HEADINGS, rows);
}

async function explain(site, event) {
  at("why-text").replaceChildren(element("p", "asking"));
  at("why").showModal();
  try {
    const { now, history } = await (await site.ask(site.api(`/explain/${encodeURIComponent(event)}`))).json();
    const table = document.createElement("table");
    const names = Object.keys(now?.rows[0] ?? {});
    const text = (value) => (typeof value === "number" ? number(value) : String(value ?? "–"));
    table.append(row("th", names), ...(now?.rows ?? []).map((each) => row("td", names.map((name) => text(each[name])))));
    const told = history.map((each) => element("li", `${clock(each.time)} ${each.type}${each.value === undefined ? "" : ` ${number(each.value)}`}`));
    const list = element("ul", "");
    list.append(...told);
    at("why-text").replaceChildren(element("p", now?.summary ?? "Its action is not offered any more."), table, element("h3", "What was logged"), list);
  } catch (error) {
    at("why-text").replaceChildren(element("p", error.message));
  }
}
