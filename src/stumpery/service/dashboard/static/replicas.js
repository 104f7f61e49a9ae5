// The processes that serve one log: hidden where there is one alone.

import { number } from "/charts.js";
import { at, row } from "/dom.js";

const EVERY_MS = 2000;
const HEADINGS = [["process"], ["role"], ["state"], ["event", "number"], ["behind", "number"], ["events/s", "number"], ["hash"]];
let isWatching = false;

// `ask` fetches a path with the key of the page.
export function watchReplicas(ask) {
  if (isWatching) return;
  isWatching = true;
  const look = async () => {
    if (!document.hidden) await ask("/v1/replicas").then((answer) => answer.json()).then(show, () => {});
    setTimeout(look, EVERY_MS);
  };
  look();
}

function show(replicas) {
  at("replicas").hidden = replicas.length < 2;
  const rows = replicas.map((each) => row("td", [
    [each.is_self ? `${each.name} (this one)` : each.name],
    [each.is_leader ? `${each.role}, leads` : each.role],
    [stateOf(each)],
    [number(each.number), "number"],
    [number(each.behind), "number"],
    [number(Math.round(each.events_per_s)), "number"],
    [hashOf(each, replicas)],
  ]));
  at("replicas-table").replaceChildren(row("th", HEADINGS), ...rows);
}

function stateOf({ is_gone, is_ready, heard_s }) {
  if (is_gone) return `silent for ${number(Math.round(heard_s))} s`;
  return is_ready ? "ready" : "not ready";
}

// The hash, and whether it equals that of the leader after the same event.
function hashOf(each, replicas) {
  if (!each.hash) return "none yet";
  const hash = `${each.hash.slice(0, 12)} at ${number(each.hash_number)}`;
  const leader = replicas.find(({ is_leader }) => is_leader);
  if (!leader || each.is_leader || leader.hash_number !== each.hash_number) return hash;
  return `${hash}, ${leader.hash === each.hash ? "equal" : "differs"}`;
}
