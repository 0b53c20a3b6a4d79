// Calls of the server as they come, with all that they carry.

import { stream } from "./api.js";
import { count, element, field, name, number, pretty, time } from "./parts.js";

/** Calls that the page keeps. */
const KEPT = 1000;

const OUTCOMES = [
  "OK", "EXCEPTION", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
];

const words = (text) => text.split(/[\s,]+/).filter(Boolean);

/** A text input, and the part of a filter that it makes. */
function option(label, note, placeholder, read) {
  const input = element("input", { "aria-label": label, placeholder, autocomplete: "off", spellcheck: "false" });
  return { node: field(label, input, note), read: () => (input.value.trim() ? read(input.value.trim()) : {}) };
}

function options() {
  const outcome = element("select", { "aria-label": "outcome" }, element("option", { value: "" }, "any"), OUTCOMES.map((code) => element("option", {}, code)));
  return [
    option("methods", "services, or methods", "shop.v1.Orders/place", (text) => ({ methods: words(text) })),
    option("callers", "beginnings of addresses", "10.0.0.7", (text) => ({ peers: words(text) })),
    option("principals", "names", "alice", (text) => ({ principals: words(text) })),
    { node: field("outcome", outcome), read: () => (outcome.value ? { codes: [outcome.value] } : {}) },
    option("slower than", "milliseconds", "0", (text) => ({ slowerThanUs: String(Math.round(Number(text) * 1000)) })),
    option("share", "of these calls, 0 to 1", "1", (text) => ({ share: Number(text) })),
    option("seconds", "until it ends", "60", (text) => ({ seconds: Number(text) })),
  ];
}

/** A call, which opens to show its messages. */
function shown(call) {
  const failed = call.code && call.code !== "OK";
  const items = (call.items || []).map((item) => `${item.sent ? "<" : ">"} ${item.item}`);
  const headers = (call.headers || []).map((header) => `${header.name}: ${header.value}`);
  const part = (title, text) => text && [element("h3", {}, title), element("pre", {}, text)];
  return element(
    "details",
    { class: "captured" },
    element(
      "summary",
      {},
      element("span", { class: "number" }, `${(number(call.beganUs) / 1e6).toFixed(3)} s`),
      element("span", {}, name(call)),
      element("span", { class: "faint" }, call.wire),
      element("span", { class: "faint" }, call.principal ? `${call.peer} (${call.principal})` : call.peer),
      element("span", { class: "number" }, time(number(call.elapsedUs))),
      element("span", { class: failed ? "bad" : "good" }, call.code || "running"),
    ),
    part("Parameters", call.parameters && pretty(call.parameters)),
    part("Items", items.join("\n")),
    part(call.code === "EXCEPTION" ? "Exception" : "Result", call.reply && pretty(call.reply)),
    part("Message", call.message),
    part("Headers", headers.join("\n")),
    part("Trace", call.traceId),
    part("Missing", call.missing),
  );
}

/** Gives a text to the browser as a file. */
function save(fileName, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  element("a", { href: address, download: fileName }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export async function captures(_, __, left) {
  const filter = options();
  const button = element("button", { class: "main" }, "capture");
  const keep = element("button", { type: "button", disabled: true }, "save as JSON");
  const said = element("p", { role: "status" }, "Nothing is captured yet.");
  const list = element("div", {});
  let [running, calls] = [null, []];
  const run = async () => {
    running = new AbortController();
    left.addEventListener("abort", () => running?.abort());
    [button.textContent, calls] = ["stop", []];
    list.replaceChildren();
    let [seen, lost] = [0, 0];
    const say = (state) => {
      const kept = seen > KEPT ? `, of which the last ${KEPT} are here` : "";
      said.textContent = `${state}: ${count(seen)} calls${kept}${lost ? `, ${count(lost)} left out` : ""}.`;
    };
    say("Running");
    try {
      for await (const call of stream("captured", { filter: Object.assign({}, ...filter.map((option) => option.read())) }, running.signal)) {
        [seen, lost] = [seen + 1, number(call.leftOut)];
        calls.push(call);
        list.prepend(shown(call));
        if (calls.length > KEPT) {
          calls.shift();
          list.lastChild.remove();
        }
        keep.disabled = false;
        say("Running");
      }
      say("The time is over, or the room");
    } catch (error) {
      if (error.name === "AbortError") say("Stopped");
      else said.textContent = error.message;
    }
    running = null;
    button.textContent = "capture";
  };
  const submit = (event) => {
    event.preventDefault();
    if (running) running.abort();
    else run();
  };
  keep.addEventListener("click", () => save("captured.jsonl", calls.map((call) => `${JSON.stringify(call)}\n`).join("")));
  return [
    element("h2", {}, "Capture calls"),
    element("p", { class: "faint" }, "Keeps calls with their parameters, items and results, until it ends. Credentials and sensitive fields are hidden. `dovetail capture take` writes a file that can be replayed."),
    element("form", { onsubmit: submit }, element("div", { class: "form columns" }, filter.map((option) => option.node)), element("p", { class: "inputs" }, button, keep)),
    said,
    list,
  ];
}
