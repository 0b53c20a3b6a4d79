"""Types that Dovetail sends as another one: that other one, as Apache Thrift's and protobuf's libraries have it."""

import json
import os

from google.protobuf import any_pb2, duration_pb2, json_format, struct_pb2, timestamp_pb2
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

THRIFT = {"binary": TBinaryProtocol, "compact": TCompactProtocol}

SECONDS = (None, (1, TType.I64, "seconds", None, None), (2, TType.I32, "nanos", None, None))

# What the stock compiler generates for the structs of docs/encodings.md.
STRUCTS = {
    "timestamp": SECONDS,
    "duration": SECONDS,
    "timestamp_tz": (*SECONDS, (3, TType.I32, "offset", None, None)),
    "any": (
        None,
        (1, TType.STRING, "type_url", "UTF8", None),
        (2, TType.STRING, "value", "BINARY", None),
        (3, TType.I32, "encoding", None, None),
    ),
    "array": (
        None,
        (1, TType.LIST, "extents", (TType.I32, None, False), None),
        (2, TType.LIST, "elements", (TType.I32, None, False), None),
    ),
}

MESSAGES = {
    "timestamp": timestamp_pb2.Timestamp,
    "duration": duration_pb2.Duration,
    "any": any_pb2.Any,
    "dynamic": struct_pb2.Value,
}


class Struct:
    """A value of a struct, as generated classes keep it."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def described(entry):
    value = entry["value"]
    if entry["type"] == "any":
        return {**value, "value": bytes.fromhex(value["value"])}
    return value


def thrift(entry, make):
    """The bytes of a value, which are read again."""
    spec, value = STRUCTS[entry["type"]], described(entry)
    memory = TMemoryBuffer()
    make(memory).writeStruct(Struct(**value), spec)
    again = Struct()
    make(TMemoryBuffer(memory.getvalue())).readStruct(again, spec)
    assert vars(again) == value, entry["name"]
    return memory.getvalue()


def message_of(entry):
    message, value = MESSAGES[entry["type"]](), described(entry)
    if entry["type"] == "dynamic":
        return json_format.ParseDict(value, message)
    if "text" in entry:
        message.FromJsonString(entry["text"])
    else:
        message.type_url, message.value = value["type_url"], value["value"]
    for field in (field for field in message.DESCRIPTOR.fields if field.name in value):
        assert getattr(message, field.name) == value[field.name], entry["name"]
    return message


def read_dovetail(entry, message):
    """Dovetail says fields that are zero, too; the values are the same."""
    theirs = MESSAGES[entry["type"]].FromString(bytes.fromhex(entry["dovetail"]))
    theirs.DiscardUnknownFields()  # the encoding of an any
    assert theirs == message, f"{entry['name']}: {theirs} instead of {message}"
    if "text" in entry:
        assert theirs.ToJsonString() == entry["text"], entry["name"]
    if entry["type"] == "any":
        span = duration_pb2.Duration()
        assert theirs.Unpack(span) and span.seconds == 3


def write_all(golden, directory):
    """Reads what Dovetail wrote, and writes DIRECTORY/python/carriers-<protocol>/<name>.hex."""
    with open(os.path.join(golden, "carriers.json"), encoding="utf-8") as file:
        entries = json.load(file)["values"]
    for entry in entries:
        if entry["type"] in STRUCTS:
            for protocol, make in THRIFT.items():
                write(directory, protocol, entry, thrift(entry, make))
        if entry["type"] in MESSAGES:
            message = message_of(entry)
            read_dovetail(entry, message)
            write(directory, "protobuf", entry, message.SerializeToString(deterministic=True))


def write(directory, protocol, entry, data):
    folder = os.path.join(directory, "python", "carriers-" + protocol)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, entry["name"] + ".hex"), "w", encoding="ascii") as out:
        out.write(data.hex() + "\n")
