// Types of a contract as text, such as `map<string, list<Order>>`: what they are made of, a sample of
// each, and the fields of a form.

import { element, field } from "./parts.js";

const INTEGERS = new Set(["i8", "i16", "i32", "u8", "u16", "u32"]);

/** Types whose values are text in JSON. */
const TEXTS = {
  string: "",
  binary: "",
  uuid: "00000000-0000-0000-0000-000000000000",
  i64: "0",
  u64: "0",
  decimal: "0",
  date: "2026-01-01",
  duration: "0s",
  timestamp: "2026-01-01T00:00:00Z",
  timestamp_tz: "2026-01-01T00:00:00Z",
};

/** Structs inside one another that a sample or a form goes into. */
const DEPTH = 4;

/** The name of a type, and the types in its brackets. */
export function parse(text) {
  const open = text.indexOf("<");
  if (open < 0) return { name: text.replace(/^ref /, ""), inside: [] };
  const inside = [];
  let [depth, start] = [0, open + 1];
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === "<") depth += 1;
    else if (text[at] === ">") depth -= 1;
    if (depth < 0 || (depth === 0 && text[at] === ",")) {
      inside.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return { name: text.slice(0, open), inside };
}

const find = (types, name) => types.find((known) => known.name === name);

/** Returns a value of a type, in JSON. */
export function sample(text, types, depth = 0) {
  const { name, inside } = parse(text);
  if (name in TEXTS) return TEXTS[name];
  if (INTEGERS.has(name) || name === "float" || name === "double") return 0;
  if (name === "bool") return false;
  if (name === "list" || name === "set" || name === "array") return depth < DEPTH ? [sample(inside[0], types, depth + 1)] : [];
  if (name === "map") {
    const key = sample(inside[0], types, DEPTH);
    return depth < DEPTH ? { [typeof key === "object" ? "" : key]: sample(inside[1], types, depth + 1) } : {};
  }
  const named = find(types, name);
  if (!named) return name === "dynamic" ? null : {};
  if (named.kind === "enum") return named.values[0]?.name ?? 0;
  if (named.kind === "family") return { "#type": named.members[0], ...sampleOf(find(types, named.members[0]), types, depth) };
  return sampleOf(named, types, depth);
}

function sampleOf(named, types, depth) {
  const value = {};
  for (const field of named?.fields || []) {
    // A value that is there or not is left out where values might go on for ever.
    if (depth >= DEPTH || (field.optional && depth > 0)) continue;
    value[field.name] = sample(field.type, types, depth + 1);
    if (named.kind === "union") break;
  }
  return value;
}

/** An input for a value. `read` returns it, undefined where there is none. */
function input(node, read) {
  return { node, read };
}

function text(given, optional, type) {
  const node = element("input", { type: "text", value: given, autocomplete: "off", spellcheck: "false", inputmode: type });
  return input(node, () => (node.value === "" && optional ? undefined : node.value));
}

function choice(names, optional) {
  const options = names.map((name) => element("option", {}, name));
  const node = element("select", {}, optional ? element("option", { value: "" }, "–") : null, options);
  return input(node, () => (node.value === "" ? undefined : node.value));
}

/** An input for a value as JSON. */
export function json(given) {
  const node = element("textarea", { spellcheck: "false", rows: Math.min(12, given.split("\n").length) }, given);
  return input(node, () => {
    if (node.value.trim() === "") return undefined;
    try {
      return JSON.parse(node.value);
    } catch (error) {
      node.focus();
      throw new Error(`${node.getAttribute("aria-label") || "a value"} is no JSON: ${error.message}`);
    }
  });
}

/** Returns the input for a value of a type. */
function inputFor(type, types, optional, depth) {
  const { name } = parse(type);
  if (name === "bool") return choice(optional ? ["true", "false"] : ["false", "true"], optional);
  if (INTEGERS.has(name)) return text(optional ? "" : "0", optional, "numeric");
  if (name === "float" || name === "double") return text(optional ? "" : "0", optional, "decimal");
  if (name in TEXTS) return text(optional ? "" : TEXTS[name], optional, name === "i64" || name === "u64" ? "numeric" : "text");
  const named = find(types, name);
  if (named?.kind === "enum") return choice(named.values.map((value) => value.name), optional);
  if (named?.kind === "struct" && !optional && depth < DEPTH) {
    const inside = inputs(named.fields, types, depth + 1);
    return input(element("fieldset", {}, inside.node), inside.read);
  }
  return json(optional ? "" : JSON.stringify(sample(type, types, 1), null, 2));
}

/** Returns a value as JSON has it, of the text that an input has. */
function typed(type, value) {
  const { name } = parse(type);
  if (name === "bool" && typeof value === "string") return value === "true";
  const isNumber = INTEGERS.has(name) || name === "float" || name === "double";
  // `NaN` and what is no number stay text: the server says what it thinks of it.
  return isNumber && typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** Returns the inputs for fields; `read` makes an object of them. */
export function inputs(fields, types, depth = 0) {
  const all = fields.map((of) => {
    const made = inputFor(of.type, types, of.optional, depth);
    made.node.setAttribute("aria-label", of.name);
    const notes = [of.type, of.optional && "optional", of.required && "required", of.sensitive && "sensitive"];
    const label = made.node.tagName === "FIELDSET" ? group : field;
    return { of, read: made.read, node: label(of.name, made.node, notes.filter(Boolean).join(", ")) };
  });
  const read = () => {
    const value = {};
    for (const { of, read } of all) {
      const given = read();
      if (given !== undefined) value[of.name] = typed(of.type, given);
    }
    return value;
  };
  return { node: all.map(({ node }) => node), read };
}

function group(label, node, note) {
  node.prepend(element("legend", {}, label, element("small", {}, ` ${note}`)));
  return node;
}
