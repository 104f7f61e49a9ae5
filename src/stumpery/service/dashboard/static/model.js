// What a policy has learned: the importance of columns, and one tree; and the alarms of the service.

import { number } from "/charts.js";
import { at, bar } from "/dom.js";
import { drawTree } from "/tree.js";

const EVERY_MS = 5000;
const MAX_COLUMNS = 12;
let [shownAt, shownOf] = [0, null];
export let alarms = []; // of the policy, in words

export async function showModel(site) {
  const { policy } = site;
  if (shownOf === policy && Date.now() - shownAt < EVERY_MS) return;
  [shownAt, shownOf] = [Date.now(), policy];
  try {
    const { importances, tree } = await (await site.ask(site.api("/model"))).json();
    const every = await (await site.ask("/v1/alarms")).json();
    if (policy !== site.policy) return;
    alarms = every.filter((each) => each.policy === policy).map(({ sentence }) => sentence);
    showColumns(importances);
    if (tree.length) drawTree(at("tree"), tree);
    else at("tree").textContent = "This kind of policy has no trees, or nothing was learned yet.";
  } catch (error) {
    at("columns").textContent = error.message;
  }
}

function showColumns(importances) {
  const columns = Object.entries(importances).sort(([, a], [, b]) => b - a).slice(0, MAX_COLUMNS);
  const most = Math.max(1e-9, ...columns.map(([, share]) => share));
  at("columns").replaceChildren(...columns.map(([name, share]) => bar(name, share / most, `${number(100 * share)} %`)));
  if (!columns.length) at("columns").textContent = "This kind of policy has none, or nothing was learned yet.";
}
