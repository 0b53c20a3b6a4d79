"""Protobuf's own library for Python: makes random messages, and reads and writes those of others.

    oracle.py DESCRIPTORS make SEED COUNT TYPE...
    oracle.py DESCRIPTORS check

`check` takes lines of JSON from standard input: `type`, `binary` in base64, and the same message as text in `json`. It answers each
with the message as it writes it, or with an `error`. `make` writes such lines.
"""

import base64
import json
import random
import struct
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

WHOLE = {
    "INT32": (-(2**31), 2**31 - 1), "SINT32": (-(2**31), 2**31 - 1), "SFIXED32": (-(2**31), 2**31 - 1),
    "UINT32": (0, 2**32 - 1), "FIXED32": (0, 2**32 - 1),
    "INT64": (-(2**63), 2**63 - 1), "SINT64": (-(2**63), 2**63 - 1), "SFIXED64": (-(2**63), 2**63 - 1),
    "UINT64": (0, 2**64 - 1), "FIXED64": (0, 2**64 - 1),
}
TYPES = {value.number: value.name.removeprefix("TYPE_") for value in descriptor_pb2.FieldDescriptorProto.Type.DESCRIPTOR.values}
REALS = [0.0, -0.0, 1.5, -0.1, float("inf"), float("-inf")]
DOUBLES = REALS + [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 9007199254740993.0, 1e-7, 1e21]
FLOATS = REALS + [1.401298464324817e-45, 3.4028234663852886e38, 16777216.0]
LETTERS = ["a", "Z", "0", " ", '"', "\\", "/", "\n", "\0", "\x7f", "\u2028", "ä", "€", "\ufeff", "😀"]
DEPTH = 3


def load(path):
    with open(path, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


def text(random):
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(6)))


def scalar(random, field):
    kind = TYPES[field.type]
    if kind in WHOLE:
        least, most = WHOLE[kind]
        return random.choice([least, most, 0, 1, max(least, -1), random.randint(least, most)])
    if kind == "BOOL":
        return random.choice([True, False])
    if kind == "ENUM":
        known = [value.number for value in field.enum_type.values]
        # `null` in JSON stands for all numbers of NullValue.
        closed = field.enum_type.is_closed or field.enum_type.full_name == "google.protobuf.NullValue"
        return random.choice(known if closed else known + [77, -(2**31), 2**31 - 1])
    if kind == "STRING":
        return text(random)
    if kind == "BYTES":
        return random.randbytes(random.randrange(8))
    if kind == "DOUBLE":
        bits = struct.unpack("<d", random.randbytes(8))[0]
        return random.choice(DOUBLES + ([bits] if bits == bits else []))
    bits = struct.unpack("<f", random.randbytes(4))[0]
    return random.choice(FLOATS + ([bits] if bits == bits else []))


def any_of(random, message, depth, pool):
    name = random.choice(["google.protobuf.Int32Value", "google.protobuf.Duration", "protobuf_test_messages.proto3.ForeignMessage"])
    try:
        inner = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
    except KeyError:
        return
    fill(random, inner, depth - 1, pool)
    message.Pack(inner)


def instant(random, message, depth, pool):
    message.seconds = random.choice([0, -62135596800, 253402300799, random.randint(-62135596800, 253402300799)])
    message.nanos = random.choice([0, 1, 999999999, 500000000, 1000])


def span(random, message, depth, pool):
    sign = random.choice([-1, 1])
    message.seconds = sign * random.choice([0, 1, 315576000000, random.randint(0, 315576000000 - 1)])
    message.nanos = sign * random.choice([0, 1, 500000000, 1000]) * (abs(message.seconds) < 315576000000)


def mask(random, message, depth, pool):
    message.paths.extend(random.choice(["a", "foo_bar", "foo_bar.b_c", "x1.y"]) for _ in range(random.randrange(4)))


def value(random, message, depth, pool):
    kind = random.choice(["null_value", "number_value", "string_value", "bool_value"] + ["struct_value", "list_value"] * (depth > 0))
    if kind == "null_value":
        message.null_value = 0
    elif kind == "number_value":
        message.number_value = random.choice([0.0, -1.5, 1e300, 12345678.0])
    elif kind == "string_value":
        message.string_value = text(random)
    elif kind == "bool_value":
        message.bool_value = random.choice([True, False])
    elif kind == "struct_value":
        message.struct_value.SetInParent()
        for _ in range(random.randrange(3)):
            value(random, message.struct_value.fields[text(random)], depth - 1, pool)
    else:
        message.list_value.SetInParent()
        for _ in range(random.randrange(3)):
            value(random, message.list_value.values.add(), depth - 1, pool)


SPECIAL = {
    "google.protobuf.Any": any_of,
    "google.protobuf.Timestamp": instant,
    "google.protobuf.Duration": span,
    "google.protobuf.FieldMask": mask,
    "google.protobuf.Value": value,
}


def fill(random, message, depth, pool):
    """Sets some of the fields; of a oneof the last one stays."""
    special = SPECIAL.get(message.DESCRIPTOR.full_name)
    if special:
        return special(random, message, depth, pool)
    share = 0.5 if len(message.DESCRIPTOR.fields) < 12 else 0.2
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and random.random() > share:
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            entries(random, message, field, depth, pool)
        elif field.message_type:
            if depth == 0:
                continue
            if field.is_repeated:
                for _ in range(random.randrange(3)):
                    fill(random, getattr(message, field.name).add(), depth - 1, pool)
            else:
                inner = getattr(message, field.name)
                inner.SetInParent()
                fill(random, inner, depth - 1, pool)
        elif field.is_repeated:
            getattr(message, field.name).extend(scalar(random, field) for _ in range(random.randrange(4)))
        else:
            setattr(message, field.name, scalar(random, field))


def entries(random, message, field, depth, pool):
    key, item = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
    map_ = getattr(message, field.name)
    for _ in range(random.randrange(3)):
        if item.message_type:
            fill(random, map_[scalar(random, key)], depth and depth - 1, pool)
        else:
            map_[scalar(random, key)] = scalar(random, item)


def line(name, message, pool):
    binary = base64.b64encode(message.SerializePartialToString()).decode()
    return json.dumps({"type": name, "binary": binary, "json": json_format.MessageToJson(message, descriptor_pool=pool)})


def check(asked, pool):
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(asked["type"]))
    read = kind.FromString(base64.b64decode(asked["binary"]))
    other = json_format.Parse(asked["json"], kind(), descriptor_pool=pool)
    if read != other:
        return json.dumps({"error": f"differ:\n{read}\n--- by JSON\n{other}"})
    return line(asked["type"], read, pool)


def main():
    pool = load(sys.argv[1])
    if sys.argv[2] == "make":
        seed, count, types = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
        for name in types:
            chance = random.Random(f"{seed} {name}")
            kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
            for _ in range(count):
                message = kind()
                fill(chance, message, DEPTH, pool)
                # Some types require themselves, and have no whole message.
                if message.IsInitialized():
                    print(line(name, message, pool))
        return
    for asked in sys.stdin:
        try:
            print(check(json.loads(asked), pool))
        except Exception as problem:
            print(json.dumps({"error": f"{type(problem).__name__}: {problem}"}))


main()
