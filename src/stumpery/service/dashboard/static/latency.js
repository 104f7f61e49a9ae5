// Throughput and latency of the requests that this process answered, from its histograms, seen every two seconds.

import { lines, number } from "/charts.js";
import { at, row } from "/dom.js";

const EVERY_MS = 2000;
const KEPT = 60;
const HEADINGS = [["requests"], ["a second", "number"], ["median", "number"], ["99 %", "number"]];
const [ACCENT, OTHER] = ["#1b8a66", "#b9780a"];
const seen = [];
let [last, isWatching] = [null, false];

export function watchLatencies(ask) {
  if (isWatching) return;
  isWatching = true;
  const look = async () => {
    if (!document.hidden) await ask("/v1/latencies").then((answer) => answer.json()).then(show, () => {});
    setTimeout(look, EVERY_MS);
  };
  look();
}

function show(now) {
  const before = last;
  last = now;
  if (!before || now.time_s <= before.time_s) return;
  const span = now.time_s - before.time_s;
  const old = Object.fromEntries(before.operations.map(({ operation, counts }) => [operation, counts]));
  const fresh = now.operations.map(({ operation, counts }) => ({
    operation,
    counts: counts.map((count, index) => Math.max(0, count - (old[operation]?.[index] ?? 0))),
  }));
  const all = now.bounds_s.concat(0).map((_, index) => fresh.reduce((sum, { counts }) => sum + counts[index], 0));
  const rate = total(all) / span;
  seen.push({ time: Date.now(), rate, middle: quantile(all, now.bounds_s, 0.5), high: quantile(all, now.bounds_s, 0.99) });
  if (seen.length > KEPT) seen.shift();
  const rows = fresh.filter(({ counts }) => total(counts)).map(({ operation, counts }) => row("td", [
    operation,
    [number(total(counts) / span), "number"],
    [milliseconds(quantile(counts, now.bounds_s, 0.5)), "number"],
    [milliseconds(quantile(counts, now.bounds_s, 0.99)), "number"],
  ]));
  at("latency").replaceChildren(row("th", HEADINGS), ...rows);
  at("commits").textContent = now.commit_p50_s === null ? "" : `A commit takes ${milliseconds(now.commit_p50_s)} in the median, ${milliseconds(now.commit_p99_s)} in 99 %: an answer leaves after it.`;
  const known = seen.filter(({ middle }) => middle !== null);
  const series = (name, color, of, dashed) => ({ name, color, dashed, points: known.map((each) => [of(each), null, null]) });
  const times = known.map((each) => each.time);
  lines(at("latency-chart"), [series("99 %, ms", OTHER, (each) => 1000 * each.high, true), series("median, ms", ACCENT, (each) => 1000 * each.middle)], times, "latency");
  lines(at("rate-chart"), [series("requests a second", ACCENT, (each) => each.rate)], times, "throughput");
}

function total(counts) {
  return counts.reduce((sum, count) => sum + count, 0);
}

// A quantile of a histogram, as if latencies were uniform within a bucket; null without any.
function quantile(counts, bounds, share) {
  const n = total(counts);
  if (!n) return null;
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (below + count >= share * n && count) {
      const low = bounds[index - 1] ?? 0;
      const high = bounds[index] ?? 2 * bounds.at(-1);
      return low + ((high - low) * (share * n - below)) / count;
    }
    below += count;
  }
  return null;
}

function milliseconds(seconds) {
  return `${number(1000 * seconds)} ms`;
}
