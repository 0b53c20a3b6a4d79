// Calls of dovetail.admin.v1.Admin by Connect, as any other client makes them.

const SERVICE = "/dovetail.admin.v1.Admin/";

/** The end of a stream, among the flags of its messages. */
const END = 2;

/** The length of what stands before each message of a stream: its flags, and its length. */
const PREFIX = 5;

/** A failed call. */
export class Failure extends Error {
  constructor({ code, message, details }) {
    super(message || code || "the call has failed");
    this.code = code;
    this.details = details || [];
  }
}

export const token = {
  get: () => sessionStorage.getItem("token") || "",
  set: (value) => sessionStorage.setItem("token", value),
};

function request(type, body, signal) {
  const headers = { "Content-Type": type };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  return { method: "POST", headers, body, signal };
}

async function refusal(answer) {
  const text = await answer.text();
  try {
    return new Failure(JSON.parse(text));
  } catch {
    return new Failure({ message: text || answer.statusText });
  }
}

/** Calls a method. */
export async function call(method, parameters = {}) {
  const answer = await fetch(SERVICE + method, request("application/json", JSON.stringify(parameters)));
  if (!answer.ok) throw await refusal(answer);
  return (await answer.json()).result;
}

/** Calls a method that gives items, one after the other. The signal of an AbortController ends it. */
export async function* stream(method, parameters, signal) {
  const message = new TextEncoder().encode(JSON.stringify(parameters));
  const body = new Uint8Array(PREFIX + message.length);
  new DataView(body.buffer).setUint32(1, message.length);
  body.set(message, PREFIX);
  const answer = await fetch(SERVICE + method, request("application/connect+json", body, signal));
  if (!answer.ok) throw await refusal(answer);
  for await (const [flags, text] of messages(answer.body.getReader())) {
    const read = JSON.parse(text);
    if (flags !== END) yield read.item;
    else if (read.error) throw new Failure(read.error);
    else return;
  }
  throw new Failure({ message: "the server has ended the connection" });
}

/** Puts messages together, whose pieces end anywhere. */
async function* messages(reader) {
  let held = new Uint8Array(0);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const both = new Uint8Array(held.length + value.length);
    both.set(held);
    both.set(value, held.length);
    held = both;
    while (held.length >= PREFIX) {
      const end = PREFIX + new DataView(held.buffer, held.byteOffset).getUint32(1);
      if (held.length < end) break;
      yield [held[0], new TextDecoder().decode(held.subarray(PREFIX, end))];
      held = held.subarray(end);
    }
  }
}
