// The pages that show a server.

import { call } from "./api.js";
import { failures, history, key, note, upTo } from "./history.js";
import { bytes, count, element, figures, heatMap, histogram, line, name, number, table, time } from "./parts.js";

const TIMES = "Times of calls";

const METHOD_COLUMNS = [
  ["method", (row) => element("a", { href: `#method=${encodeURIComponent(key(row))}` }, name(row))],
  ["wire", (row) => row.wire],
  ["calls/s", (row) => count(row.rate), "number"],
  ["calls", (row) => count(number(row.calls)), "number"],
  ["running", (row) => count(number(row.inFlight)), "number"],
  ["failed", (row) => count(failures(row)), "number"],
  ["p50", (row) => time(row.p50Us || 0), "number"],
  ["p99", (row) => time(row.p99Us || 0), "number"],
  ["p99.9", (row) => time(row.p999Us || 0), "number"],
];

export async function overview() {
  const [server, methods] = await Promise.all([call("overview"), call("methods")]);
  note(methods);
  const counters = Object.entries(server.counters || {}).filter(([, value]) => number(value) > 0);
  return [
    figures([
      ["state", server.draining ? "draining" : "serving", server.draining ? "bad" : "good"],
      ["running for", time(number(server.uptimeMs) * 1000)],
      ["connections", count(number(server.connections))],
      ["calls that run", count(number(server.callsInFlight))],
      ["held for peers", bytes(number(server.heldBytes))],
      ["version", server.version],
    ]),
    line("Calls a second", history.calls, count),
    line("Failures a second", history.failures, count),
    heatMap(TIMES, history.heat, upTo),
    element("h2", {}, "Services"),
    element("p", {}, (server.services || []).filter(Boolean).join(", ")),
    element("h2", {}, "Counters"),
    table([["counter", ([key]) => key.replaceAll("_", " ")], ["", ([, value]) => count(number(value)), "number"]], counters, "Nothing has been counted yet."),
  ];
}

export async function methods() {
  const rows = note(await call("methods"));
  rows.sort((one, other) => other.rate - one.rate || number(other.calls) - number(one.calls));
  return [element("h2", {}, "Methods"), table(METHOD_COLUMNS, rows, "No method has been called yet.")];
}

// Times that not all calls have.
function waits(what, calls, p50, p99) {
  if (!number(calls)) return [];
  return [[`calls ${what}`, count(number(calls))], [`p50 ${what}`, time(p50 || 0)], [`p99 ${what}`, time(p99 || 0)]];
}

export async function method(which) {
  const row = note(await call("methods")).find((row) => key(row) === which);
  if (!row) return [element("p", {}, `${which} has not been called.`)];
  return [
    element("h2", {}, which),
    element("p", {}, element("a", { href: `#call=${encodeURIComponent(name(row))}` }, "contract, and a form to call it")),
    figures([
      ["calls/s", count(row.rate)],
      ["calls", count(number(row.calls))],
      ["running", count(number(row.inFlight))],
      ["p50", time(row.p50Us || 0)],
      ["p90", time(row.p90Us || 0)],
      ["p99", time(row.p99Us || 0)],
      ["p99.9", time(row.p999Us || 0)],
      ...waits("in a queue", row.queuedCalls, row.queuedP50Us, row.queuedP99Us),
      ...waits("to the first item", row.streamingCalls, row.firstItemP50Us, row.firstItemP99Us),
      ["received", bytes(number(row.receivedBytes))],
      ["sent", bytes(number(row.sentBytes))],
    ]),
    heatMap(TIMES, row.heat, upTo),
    element("h2", {}, "All calls, by their time"),
    histogram(row.times || []),
    element("h2", {}, "Outcomes"),
    table([["outcome", ([code]) => code], ["calls", ([, calls]) => count(number(calls)), "number"]], Object.entries(row.outcomes || {}), "No call has ended yet."),
  ];
}

export async function calls(_, again) {
  const rows = await call("calls");
  const cancel = (row) => element("button", { type: "button", "aria-label": `cancel call ${row.id}`, onclick: () => again(call("cancel", { call: row.id })) }, "cancel");
  return [
    element("h2", {}, "Calls that run"),
    table([
      ["call", (row) => row.id, "number"],
      ["method", name],
      ["wire", (row) => row.wire],
      ["caller", (row) => row.principal || ""],
      ["from", (row) => row.peer],
      ["for", (row) => time(number(row.runningUs)), "number"],
      ["left", (row) => (row.leftUs === undefined || row.leftUs === null ? "" : time(number(row.leftUs))), "number"],
      ["", cancel],
    ], rows, "No call runs."),
  ];
}

// What a connection, or all connections of a peer, have carried.
const TRAFFIC_COLUMNS = [
  ["calls", (row) => count(number(row.calls)), "number"],
  ["received", (row) => bytes(number(row.receivedBytes)), "number"],
  ["sent", (row) => bytes(number(row.sentBytes)), "number"],
];

export async function connections() {
  const [open, peers] = await Promise.all([call("connections"), call("peers")]);
  return [
    element("h2", {}, "Peers"),
    table([
      ["address", (row) => row.peer],
      ["open", (row) => count(number(row.openConnections)), "number"],
      ["connections", (row) => count(number(row.connections)), "number"],
      ...TRAFFIC_COLUMNS,
    ], peers, "Nobody has called yet."),
    element("h2", {}, "Connections"),
    table([
      ["connection", (row) => row.id || "0", "number"],
      ["from", (row) => row.peer],
      ["wire", (row) => row.wire || ""],
      ["open for", (row) => time(number(row.ageMs) * 1000), "number"],
      ...TRAFFIC_COLUMNS,
      ["", (row) => (row.idle ? "idle" : "")],
    ], open, "There are no connections."),
  ];
}

export async function recent() {
  return [
    element("h2", {}, "Calls that have failed, or took more than a second"),
    table([
      ["at", (row) => new Date(number(row.endedMs)).toLocaleTimeString()],
      ["method", name],
      ["wire", (row) => row.wire],
      ["from", (row) => row.peer],
      ["took", (row) => time(number(row.elapsedUs)), "number"],
      ["outcome", (row) => element("span", { class: row.code === "OK" ? undefined : "bad" }, row.code)],
      ["", (row) => row.message || "", "long"],
      ["trace", (row) => element("span", { title: row.traceId }, row.traceId.slice(0, 8))],
    ], await call("recent"), "None."),
  ];
}

export async function limits() {
  return [
    element("h2", {}, "Calls that quotas have refused"),
    table([
      ["place", (row) => row.place],
      ["of", (row) => (row.eachCaller ? "each caller" : "all")],
      ["reason", (row) => row.reason],
      ["calls", (row) => count(number(row.calls)), "number"],
      ["callers with the most", (row) => (row.callers || []).slice(0, 5).map((one) => `${one.caller} (${count(number(one.calls))})`).join(", "), "long"],
    ], await call("refusals"), "None."),
  ];
}

export async function servers() {
  const bad = (row) => row.ejected || ["failed", "unhealthy", "unknown"].includes(row.state);
  return [
    element("h2", {}, "Servers of the names that channels of this program call"),
    table([
      ["name", (row) => row.name],
      ["server", (row) => row.address || ""],
      ["state", (row) => element("span", { class: bad(row) ? "bad" : undefined }, row.ejected ? "ejected" : row.state)],
      ["calls", (row) => count(number(row.calls)), "number"],
      ["running", (row) => count(number(row.inFlight)), "number"],
      ["latency", (row) => (row.latencyUs === undefined || row.latencyUs === null ? "" : time(number(row.latencyUs))), "number"],
      ["weight", (row) => row.weight || "0", "number"],
      ["priority", (row) => row.priority || "0", "number"],
      ["zone", (row) => row.zone || ""],
      ["", (row) => row.failure || "", "long"],
    ], await call("servers"), "No channel calls a name with several servers."),
  ];
}

export async function configuration() {
  const shown = element("pre", {}, await call("configuration"));
  const said = element("p", { role: "status" });
  const say = (change) => async () => {
    try {
      said.textContent = await change();
      shown.textContent = await call("configuration");
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const reload = say(async () => {
    const { changed = [], restart = [] } = await call("reload");
    return `Changed: ${changed.join(", ") || "nothing"}.${restart.length ? ` After a restart: ${restart.join(", ")}.` : ""}`;
  });
  const set = (parameters) => say(async () => `Changed: ${(await call("set", parameters())).join(", ") || "nothing"}.`);
  const key = element("input", { "aria-label": "key", placeholder: "log.level" });
  const value = element("input", { "aria-label": "value", placeholder: "debug" });
  return [
    element("h2", {}, "Configuration"),
    element("p", {}, element("button", { type: "button", onclick: reload }, "read the file again")),
    element(
      "p",
      { class: "inputs" },
      key,
      value,
      element("button", { type: "button", onclick: set(() => ({ key: key.value, value: value.value })) }, "set until the program ends"),
      element("button", { type: "button", onclick: set(() => ({ key: key.value })) }, "take the file's value"),
    ),
    said,
    shown,
  ];
}
