// @bufbuild/protobuf: reads and writes messages, as `oracle.py` does.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createFileRegistry, equals, fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const files = fromBinary(FileDescriptorSetSchema, readFileSync(process.argv[2]));
const registry = createFileRegistry(files);

function check({ type, binary, json }) {
  const schema = registry.getMessage(type);
  const read = fromBinary(schema, Buffer.from(binary, "base64"));
  // Floats of JSON stay doubles until they are written.
  const other = fromBinary(schema, toBinary(schema, fromJsonString(schema, json, { registry })));
  const text = toJsonString(schema, read, { registry });
  if (!equals(schema, read, other, { registry, unknown: true })) {
    return { error: `differ: ${text}\n--- by JSON ${toJsonString(schema, other, { registry })}` };
  }
  return { type, binary: Buffer.from(toBinary(schema, read)).toString("base64"), json: text };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = check(JSON.parse(line));
  } catch (error) {
    answer = { error: String(error) };
  }
  console.log(JSON.stringify(answer));
}
