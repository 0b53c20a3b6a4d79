// Rates and times of methods, from one look to the next. The server counts; the page subtracts.

import { name, number } from "./parts.js";

/** Looks that plots go back. */
const LOOKS = 120;

/** Steps of times for each factor of ten. */
const STEPS = 10;

const known = new Map();
let last = 0;

export const history = { calls: [], failures: [], heat: [] };

/** The longest time of a step, in microseconds. */
export const upTo = (step) => 10 ** (step / STEPS);

const step = (microseconds) => Math.ceil(STEPS * Math.log10(Math.max(microseconds, 1)) - 1e-9);

export const key = (row) => `${name(row)} ${row.wire}`;

export const failures = (row) =>
  Object.entries(row.outcomes || {}).reduce((sum, [code, calls]) => sum + (code === "OK" || code === "EXCEPTION" ? 0 : number(calls)), 0);

function keep(list, value) {
  list.push(value);
  if (list.length > LOOKS) list.shift();
}

/** The calls in each step, of those that ended since the look before. */
function heat(buckets, before) {
  const cells = new Map();
  for (const bucket of buckets) {
    const calls = number(bucket.calls) - (before.get(bucket.upToUs) || 0);
    const row = step(bucket.upToUs);
    if (calls > 0) cells.set(row, (cells.get(row) || 0) + calls);
  }
  return cells;
}

/** Notes the rows of `methods`, and adds their rates and heat maps. */
export function note(rows) {
  const now = performance.now();
  const seconds = (now - last) / 1000;
  const all = { calls: 0, failures: 0, heat: new Map() };
  for (const row of rows) {
    const before = known.get(key(row)) || { calls: 0, failures: 0, times: new Map(), heat: [] };
    const seen = {
      calls: number(row.calls),
      failures: failures(row),
      times: new Map((row.times || []).map((bucket) => [bucket.upToUs, number(bucket.calls)])),
      heat: before.heat,
    };
    row.rate = 0;
    if (last) {
      row.rate = (seen.calls - before.calls) / seconds;
      all.calls += row.rate;
      all.failures += (seen.failures - before.failures) / seconds;
      const cells = heat(row.times || [], before.times);
      keep(seen.heat, cells);
      for (const [at, calls] of cells) all.heat.set(at, (all.heat.get(at) || 0) + calls);
    }
    row.heat = seen.heat;
    known.set(key(row), seen);
  }
  if (last) {
    keep(history.calls, all.calls);
    keep(history.failures, all.failures);
    keep(history.heat, all.heat);
  }
  last = now;
  return rows;
}
