// The console: a client of dovetail.admin.v1.Admin by Connect, like any other.
"use strict";

const SERVICE = "/dovetail.admin.v1.Admin/";
const PAUSE = 1000;
const POINTS = 120;

const page = document.getElementById("page");
const state = document.getElementById("state");

/** Calls a method of the contract. Errors have the server's own text. */
async function call(method, parameters = {}) {
  const answer = await fetch(SERVICE + method, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(parameters),
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.message || body.code || answer.statusText);
  return body.result;
}

/** Makes an element. Texts become text nodes: nothing that a peer has sent is ever read as HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// Numbers of 64 bits are texts in JSON.
const number = (value) => Number(value || 0);

function count(value) {
  return new Intl.NumberFormat("en", { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
}

function time(microseconds) {
  if (microseconds < 1000) return `${count(microseconds)} µs`;
  if (microseconds < 1e6) return `${count(microseconds / 1000)} ms`;
  if (microseconds < 120e6) return `${count(microseconds / 1e6)} s`;
  return `${count(microseconds / 60e6)} min`;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${count(value)} ${units[unit]}`;
}

function name(row) {
  return row.service ? `${row.service}/${row.method}` : row.method;
}

/** A table of rows; a column is a heading, a value of a row, and a class. */
function table(columns, rows, empty) {
  if (rows.length === 0) return element("p", { class: "faint" }, empty);
  const head = columns.map(([title, , kind]) => element("th", kind ? { class: kind, scope: "col" } : { scope: "col" }, title));
  const body = rows.map((row) => element("tr", {}, ...columns.map(([, value, kind]) => element("td", kind ? { class: kind } : {}, value(row)))));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)));
}

function figures(pairs) {
  return element("div", { class: "figures" }, ...pairs.map(([title, value, kind]) => element("div", { class: "figure" }, element("b", kind ? { class: kind } : {}, value), element("span", {}, title))));
}

/** A line of the last values, from zero. */
function line(title, values, show) {
  const most = Math.max(...values, 1e-9);
  const step = 100 / Math.max(values.length - 1, 1);
  const points = values.map((value, index) => `${index * step},${100 - (95 * value) / most}`).join(" ");
  const svg = drawing("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img" });
  svg.setAttribute("aria-label", `${title}: ${show(values.at(-1) || 0)} now, ${show(most)} at most`);
  svg.append(drawing("polyline", { class: "line", points }));
  return element("figure", { class: "plot" }, element("figcaption", {}, element("span", {}, title), element("span", {}, `${show(values.at(-1) || 0)} · most ${show(most)}`)), svg);
}

/** Calls by how long they took. */
function histogram(buckets) {
  const most = Math.max(...buckets.map((bucket) => number(bucket.calls)), 1);
  const width = 100 / Math.max(buckets.length, 1);
  const svg = drawing("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": "calls by their time" });
  buckets.forEach((bucket, index) => {
    const height = (95 * number(bucket.calls)) / most;
    const bar = drawing("rect", { class: "bar", x: index * width, y: 100 - height, width: width * 0.85, height });
    const title = drawing("title", {});
    title.textContent = `up to ${time(bucket.upToUs)}: ${count(number(bucket.calls))} calls`;
    bar.append(title);
    svg.append(bar);
  });
  const first = buckets[0];
  const last = buckets.at(-1);
  const range = first ? [time(first.upToUs), time(last.upToUs)] : ["", ""];
  return element("figure", { class: "plot" }, svg, element("figcaption", {}, element("span", {}, range[0]), element("span", {}, range[1])));
}

// Rates by method, from one look to the next.
const history = { calls: [], failures: [], at: 0, methods: new Map() };

function failures(row) {
  return Object.entries(row.outcomes || {}).reduce((sum, [code, calls]) => sum + (code === "OK" || code === "EXCEPTION" ? 0 : number(calls)), 0);
}

function note(methods) {
  const now = performance.now();
  const seconds = (now - history.at) / 1000;
  const sums = [0, 0];
  for (const row of methods) {
    const key = `${name(row)} ${row.wire}`;
    const before = history.methods.get(key);
    const seen = { calls: number(row.calls), failures: failures(row), rate: 0 };
    if (before && history.at) {
      seen.rate = (seen.calls - before.calls) / seconds;
      sums[0] += seen.rate;
      sums[1] += (seen.failures - before.failures) / seconds;
    }
    row.rate = seen.rate;
    history.methods.set(key, seen);
  }
  if (history.at) {
    history.calls.push(sums[0]);
    history.failures.push(sums[1]);
    if (history.calls.length > POINTS) {
      history.calls.shift();
      history.failures.shift();
    }
  }
  history.at = now;
  return methods;
}

const METHOD_COLUMNS = [
  ["method", (row) => element("a", { href: `#method=${encodeURIComponent(`${name(row)} ${row.wire}`)}` }, name(row))],
  ["wire", (row) => row.wire],
  ["calls/s", (row) => count(row.rate), "number"],
  ["calls", (row) => count(number(row.calls)), "number"],
  ["running", (row) => count(number(row.inFlight)), "number"],
  ["failed", (row) => count(failures(row)), "number"],
  ["p50", (row) => time(row.p50Us || 0), "number"],
  ["p99", (row) => time(row.p99Us || 0), "number"],
  ["p99.9", (row) => time(row.p999Us || 0), "number"],
];

const pages = {
  async overview() {
    const [server, methods] = await Promise.all([call("overview"), call("methods").then(note)]);
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
      element("h2", {}, "Services"),
      element("p", {}, (server.services || []).filter(Boolean).join(", ")),
      element("h2", {}, "Counters"),
      table([["counter", ([key]) => key.replaceAll("_", " ")], ["", ([, value]) => count(number(value)), "number"]], counters, "Nothing has been counted yet."),
    ];
  },
  async methods() {
    const methods = note(await call("methods"));
    methods.sort((one, other) => other.rate - one.rate || number(other.calls) - number(one.calls));
    return [element("h2", {}, "Methods"), table(METHOD_COLUMNS, methods, "No method has been called yet.")];
  },
  async method(which) {
    const row = note(await call("methods")).find((row) => `${name(row)} ${row.wire}` === which);
    if (!row) return [element("p", {}, `${which} has not been called.`)];
    return [
      element("h2", {}, which),
      figures([
        ["calls/s", count(row.rate)],
        ["calls", count(number(row.calls))],
        ["running", count(number(row.inFlight))],
        ["p50", time(row.p50Us || 0)],
        ["p90", time(row.p90Us || 0)],
        ["p99", time(row.p99Us || 0)],
        ["p99.9", time(row.p999Us || 0)],
        ["received", bytes(number(row.receivedBytes))],
        ["sent", bytes(number(row.sentBytes))],
      ]),
      element("h2", {}, "Times"),
      histogram(row.times || []),
      element("h2", {}, "Outcomes"),
      table([["outcome", ([code]) => code], ["calls", ([, calls]) => count(number(calls)), "number"]], Object.entries(row.outcomes || {}), "No call has ended yet."),
    ];
  },
  async calls() {
    const calls = await call("calls");
    const cancel = (row) => element("button", { type: "button", "aria-label": `cancel call ${row.id}`, onclick: () => call("cancel", { call: row.id }).then(show, fail) }, "cancel");
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
      ], calls, "No call runs."),
    ];
  },
  async connections() {
    const connections = await call("connections");
    return [
      element("h2", {}, "Connections"),
      table([
        ["connection", (row) => row.id || "0", "number"],
        ["from", (row) => row.peer],
        ["open for", (row) => time(number(row.ageMs) * 1000), "number"],
        ["", (row) => (row.idle ? "idle" : "")],
      ], connections, "There are no connections."),
    ];
  },
  async recent() {
    const recent = await call("recent");
    return [
      element("h2", {}, "Calls that have failed, or took more than a second"),
      table([
        ["at", (row) => new Date(number(row.endedMs)).toLocaleTimeString()],
        ["method", name],
        ["wire", (row) => row.wire],
        ["from", (row) => row.peer],
        ["took", (row) => time(number(row.elapsedUs)), "number"],
        ["outcome", (row) => element("span", row.code === "OK" ? {} : { class: "bad" }, row.code)],
        ["", (row) => row.message || "", "long"],
        ["trace", (row) => element("span", { title: row.traceId }, row.traceId.slice(0, 8))],
      ], recent, "None."),
    ];
  },
  async limits() {
    const refusals = await call("refusals");
    return [
      element("h2", {}, "Calls that quotas have refused"),
      table([
        ["place", (row) => row.place],
        ["of", (row) => (row.eachCaller ? "each caller" : "all")],
        ["reason", (row) => row.reason],
        ["calls", (row) => count(number(row.calls)), "number"],
      ], refusals, "None."),
    ];
  },
  async servers() {
    const servers = await call("servers");
    const bad = (row) => row.ejected || ["failed", "unhealthy", "unknown"].includes(row.state);
    return [
      element("h2", {}, "Servers of the names that channels of this program call"),
      table([
        ["name", (row) => row.name],
        ["server", (row) => row.address || ""],
        ["state", (row) => element("span", bad(row) ? { class: "bad" } : {}, row.ejected ? "ejected" : row.state)],
        ["calls", (row) => count(number(row.calls)), "number"],
        ["running", (row) => count(number(row.inFlight)), "number"],
        ["latency", (row) => (row.latencyUs === undefined || row.latencyUs === null ? "" : time(number(row.latencyUs))), "number"],
        ["weight", (row) => row.weight || "0", "number"],
        ["priority", (row) => row.priority || "0", "number"],
        ["zone", (row) => row.zone || ""],
        ["", (row) => row.failure || "", "long"],
      ], servers, "No channel calls a name with several servers."),
    ];
  },
  async configuration() {
    const text = await call("configuration");
    const said = element("p", { role: "status" });
    const reload = async () => {
      try {
        const { changed = [], restart = [] } = await call("reload");
        said.textContent = `Changed: ${changed.join(", ") || "nothing"}.${restart.length ? ` After a restart: ${restart.join(", ")}.` : ""}`;
      } catch (error) {
        said.textContent = error.message;
      }
    };
    const key = element("input", { "aria-label": "key", placeholder: "log.level" });
    const value = element("input", { "aria-label": "value", placeholder: "debug" });
    const set = (parameters) => async () => {
      try {
        const changed = await call("set", parameters());
        shownText.textContent = await call("configuration");
        said.textContent = `Changed: ${changed.join(", ") || "nothing"}.`;
      } catch (error) {
        said.textContent = error.message;
      }
    };
    const shownText = element("pre", {}, text);
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
      shownText,
    ];
  },
};

function fail(error) {
  state.textContent = error.message;
  state.className = "bad";
}

let shown = 0;

/** Shows the page that the address names. */
async function show() {
  const turn = ++shown;
  const [which, argument] = (location.hash.slice(1) || "overview").split("=");
  const make = pages[which] || pages.overview;
  for (const link of document.querySelectorAll("nav a")) {
    const current = link.hash === `#${which}` || (which === "method" && link.hash === "#methods");
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    const children = await make(argument ? decodeURIComponent(argument) : "");
    if (turn !== shown) return;
    page.replaceChildren(...children);
    state.textContent = location.host;
    state.className = "";
  } catch (error) {
    if (turn === shown) fail(error);
  }
}

window.addEventListener("hashchange", () => {
  show();
  page.focus();
});
show();
// The configuration does not change by itself, and buttons keep their focus.
setInterval(() => {
  const busy = page.contains(document.activeElement) && document.activeElement !== page;
  if (!document.hidden && !busy && location.hash !== "#configuration") show();
}, PAUSE);
