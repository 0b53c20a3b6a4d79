// The contracts of the server, and a form to call each method.

import { call, stream } from "./api.js";
import { element, field, pretty, time, number } from "./parts.js";
import { inputs, json, sample } from "./types.js";

/** Services that every server may have stand behind its own. */
const isOwn = (service) => /^(dovetail|grpc)\./.test(service.name || "");

const path = (service, method) => (service.name ? `${service.name}/${method.name}` : method.name);

const list = (fields) => fields.map((of) => `${of.name}: ${of.type}${of.optional ? "?" : ""}`).join(", ");

/** A method as one line of a contract. */
function signature(method) {
  if (!method.described) return `${method.name}(…)`;
  const parts = [`${method.name}(${list(method.params || [])})`];
  if (method.callerStream) parts.push(`takes a stream of ${method.callerStream}`);
  if (method.result) parts.push(`→ ${method.result}`);
  if (method.serverStream) parts.push(`gives a stream of ${method.serverStream}`);
  if (method.exceptions?.length) parts.push(`throws ${method.exceptions.map((of) => of.type).join(", ")}`);
  return parts.join(" ");
}

function marks(method) {
  return [method.oneway && "one-way", method.idempotent && "idempotent", method.permission && `permission ${method.permission}`].filter(Boolean);
}

export async function services() {
  const all = await call("contract");
  all.sort((one, other) => isOwn(one) - isOwn(other));
  const method = (service) => (method) =>
    element(
      "li",
      {},
      element("a", { href: `#call=${encodeURIComponent(path(service, method))}` }, signature(method)),
      marks(method).map((mark) => element("small", {}, ` · ${mark}`)),
      method.doc && element("p", { class: "faint" }, method.doc),
    );
  return all.flatMap((service) => [
    element("h2", {}, service.name || "Functions"),
    service.doc ? element("p", { class: "faint" }, service.doc) : "",
    element("ul", { class: "contract" }, (service.methods || []).map(method(service))),
  ]);
}

/** The types that a method names. */
function typesOf(types) {
  const lines = {
    enum: (type) => (type.values || []).map((value) => `${value.name} = ${value.number || 0}`),
    family: (type) => type.members || [],
    service: () => [],
  };
  const fieldLines = (type) =>
    (type.fields || []).map((of) => `${of.id || 0}: ${of.type} ${of.name}${of.optional ? " (optional)" : ""}${of.required ? " (required)" : ""}${of.sensitive ? " (sensitive)" : ""}`);
  const text = types.map((type) => `${type.kind} ${type.name} {\n${(lines[type.kind] || fieldLines)(type).map((line) => `  ${line}\n`).join("")}}`);
  return element("details", {}, element("summary", {}, "Types"), element("pre", {}, text.join("\n\n")));
}

/** The form of a method: its parameters, and what else a call has. */
class CallForm {
  constructor(service, method) {
    Object.assign(this, { service, method, types: method.types || [] });
    const params = method.params || [];
    const message = service.messages && params.length === 1 && this.types.find((type) => type.name === params[0].type);
    // A contract of protobuf's has one message, and shows its fields.
    this.fields = message ? message.fields || [] : params;
    this.bare = Boolean(message);
    this.params = method.described ? inputs(this.fields, this.types) : json("{}");
    const item = method.callerStream && JSON.stringify(sample(method.callerStream, this.types));
    this.items = item && element("textarea", { "aria-label": "items", rows: 4, spellcheck: "false" }, item);
    this.headers = element("textarea", { "aria-label": "headers", rows: 2, spellcheck: "false", placeholder: "authorization: Bearer …" });
    this.timeout = element("input", { "aria-label": "timeout", inputmode: "numeric", value: "30000" });
  }

  /** The parameters as an object. */
  parameters() {
    return this.params.read() || {};
  }

  /** The messages of the caller, as Connect has them. */
  messages() {
    const [service, method] = [this.service, this.method];
    const parameters = JSON.stringify(this.parameters());
    if (!method.callerStream) return [parameters];
    const lines = this.items.value.split("\n").filter((line) => line.trim());
    if (service.messages) return lines;
    const items = lines.map((line) => `{"item":${line}}`);
    return method.params?.length ? [`{"params":${parameters}}`, ...items] : items;
  }

  invocation() {
    const lines = this.headers.value.split("\n").filter((line) => line.includes(":"));
    const headers = lines.map((line) => {
      const colon = line.indexOf(":");
      return { name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() };
    });
    const { service, method } = this;
    return { service: service.name, method: method.name, messages: this.messages(), headers, timeoutMs: Number(this.timeout.value) || undefined };
  }

  /** Commands that make the same call, over each wire. */
  commands() {
    const { service, method } = this;
    const quoted = `'${JSON.stringify(this.parameters()).replaceAll("'", "'\\''")}'`;
    const items = method.callerStream ? "printf '%s\\n' ITEM … | " : "";
    const called = path(service, method).replace("/", ".");
    const command = (wire) => `${items}dovetail call HOST:PORT ${called} ${quoted}${wire}`;
    const rows = [command("")];
    if (service.name) rows.push(command(" --wire grpc"));
    if (!method.callerStream && !method.serverStream) {
      rows.push(command(" --wire binary+framed"), command(" --wire msgpack-rpc"));
      rows.push(`curl --json ${quoted} http://HOST:PORT/${path(service, method)}`);
    }
    return rows.join("\n");
  }

  node() {
    return element("div", { class: "form" }, [
      this.method.described ? this.params.node : field("parameters", this.params.node, "JSON"),
      this.items && field("items", this.items, `${this.method.callerStream}, one in each line as JSON`),
      field("headers", this.headers, "one in each line"),
      field("timeout", this.timeout, "milliseconds"),
    ]);
  }
}

/** A message of an answer. */
function shown({ message, last, atUs }) {
  const read = JSON.parse(message);
  const at = element("small", { class: "faint" }, time(number(atUs)));
  if (!last) return element("div", { class: "answer" }, at, element("pre", {}, pretty(message)));
  if (!read.error) return element("div", { class: "answer" }, at, element("p", { class: "good" }, "OK"));
  const details = (read.error.details || []).map((detail) => element("pre", {}, `${detail.type} ${JSON.stringify(detail.debug ?? detail.value, null, 2)}`));
  const text = [element("b", {}, read.error.code), ` ${read.error.message || ""}`];
  return element("div", { class: "answer" }, at, element("p", { class: "bad" }, text), details);
}

/** The page of a method. */
export async function form(which, _, left) {
  const all = await call("contract");
  const found = all.flatMap((service) => (service.methods || []).map((method) => ({ service, method }))).find(({ service, method }) => path(service, method) === which);
  if (!found) return [element("p", {}, `The server has no method ${which}.`)];
  const { service, method } = found;
  const made = new CallForm(service, method);
  const answer = element("div", { "aria-live": "polite" });
  const commands = element("pre", {});
  const button = element("button", { class: "main" }, "call");
  let running = null;
  const run = async () => {
    running = new AbortController();
    left.addEventListener("abort", () => running?.abort());
    button.textContent = "cancel";
    answer.replaceChildren();
    try {
      for await (const message of stream("invoke", { call: made.invocation() }, running.signal)) answer.append(shown(message));
    } catch (error) {
      answer.append(element("p", { class: "bad" }, error.name === "AbortError" ? "cancelled" : error.message));
    }
    running = null;
    button.textContent = "call";
  };
  const submit = (event) => {
    event.preventDefault();
    if (running) running.abort();
    else run();
  };
  const update = () => {
    try {
      commands.textContent = made.commands();
    } catch {
      // JSON that is being typed.
    }
  };
  const node = element("form", { onsubmit: submit, oninput: update }, made.node(), element("p", {}, button));
  update();
  return [
    element("h2", {}, which),
    element("p", {}, element("code", {}, signature(method)), marks(method).map((mark) => element("small", {}, ` · ${mark}`))),
    method.doc ? element("p", { class: "faint" }, method.doc) : "",
    made.types.length ? typesOf(made.types) : "",
    node,
    answer,
    element("details", {}, element("summary", {}, "The same call as a command"), commands),
  ];
}
