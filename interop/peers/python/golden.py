"""Writes the golden bytes: every value of values.json as this library encodes it."""

import importlib
import json
import os

import msgpack
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.protocol.THeaderProtocol import THeaderProtocol
from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.THeaderTransport import (
    THeaderClientType,
    THeaderSubprotocolID,
    THeaderTransport,
    THeaderTransformID,
)
from thrift.transport.TTransport import TFramedTransport, TMemoryBuffer

from interop import ttypes
from msgpack_rpc import struct_to_wire

BARE = {
    "binary": lambda trans: TBinaryProtocol(trans, strictWrite=True),
    "binary-nonstrict": lambda trans: TBinaryProtocol(trans, strictWrite=False),
    "compact": TCompactProtocol,
    "json": TJSONProtocol,
}

KINDS = {
    "call": TMessageType.CALL,
    "reply": TMessageType.REPLY,
    "exception": TMessageType.EXCEPTION,
    "oneway": TMessageType.ONEWAY,
}


def header(memory, protocol, zlib=False, info=()):
    trans = THeaderTransport(memory, (THeaderClientType.HEADERS,), protocol)
    if zlib:
        trans.add_transform(THeaderTransformID.ZLIB)
    for key, value in info:
        trans.set_header(key, value)
    return THeaderProtocol(trans, (THeaderClientType.HEADERS,), protocol)


INFO = ((b"who", b"python"), (b"empty", b""))

# What only whole messages have: each returns the protocol to write into.
WRAPPED = {
    "binary-framed": lambda memory: TBinaryProtocol(TFramedTransport(memory)),
    "compact-framed": lambda memory: TCompactProtocol(TFramedTransport(memory)),
    "json-framed": lambda memory: TJSONProtocol(TFramedTransport(memory)),
    "binary-header": lambda memory: header(memory, THeaderSubprotocolID.BINARY),
    "compact-header": lambda memory: header(memory, THeaderSubprotocolID.COMPACT),
    "binary-header-zlib": lambda memory: header(memory, THeaderSubprotocolID.BINARY, zlib=True),
    "compact-header-zlib": lambda memory: header(memory, THeaderSubprotocolID.COMPACT, zlib=True),
    "binary-header-info": lambda memory: header(memory, THeaderSubprotocolID.BINARY, info=INFO),
}


def class_of(name):
    if name == "TApplicationException":
        return TApplicationException
    if "." in name:
        service, struct = name.split(".")
        module = importlib.import_module("interop." + service)
        while not hasattr(module, struct):  # inherited from Base
            module = importlib.import_module("interop.Base")
        return getattr(module, struct)
    return getattr(ttypes, name)


def value_of(ttype, args, described):
    """Makes a value of a described one, guided by the generated `thrift_spec`."""
    if ttype == TType.STRUCT:
        return struct_of(args[0], described)
    if ttype in (TType.LIST, TType.SET):
        values = [value_of(args[0], args[1], each) for each in described]
        return set(values) if ttype == TType.SET else values
    if ttype == TType.MAP:
        return {
            value_of(args[0], args[1], key): value_of(args[2], args[3], value)
            for key, value in described
        }
    if ttype == TType.DOUBLE:
        return float(described)
    if ttype == TType.STRING and args == "BINARY":
        return bytes.fromhex(described)
    return described


def struct_of(cls, described):
    if cls is TApplicationException:
        return TApplicationException(described["type"], described["message"])
    values = {}
    for field in filter(None, cls.thrift_spec):
        _, ttype, name, args, _ = field
        # An optional field with a default is otherwise set by the constructor.
        values[name] = value_of(ttype, args, described[name]) if name in described else None
    return cls(**values)


def capture(entry, protocol):
    value = struct_of(class_of(entry["type"]), entry["value"])
    message = entry.get("message")
    if message:
        protocol.writeMessageBegin(message["name"], KINDS[message["kind"]], message["seqid"])
    value.write(protocol)
    if message:
        protocol.writeMessageEnd()
        protocol.trans.flush()


def write_all(golden, directory):
    """Writes DIRECTORY/python/<protocol>/<name>.hex for every value of GOLDEN/values.json."""
    with open(os.path.join(golden, "values.json"), encoding="utf-8") as file:
        entries = json.load(file)["values"]
    folder = os.path.join(directory, "python", "msgpack")
    os.makedirs(folder, exist_ok=True)
    for entry in entries:
        if "message" not in entry:
            value = struct_to_wire(struct_of(class_of(entry["type"]), entry["value"]))
            with open(os.path.join(folder, entry["name"] + ".hex"), "w", encoding="ascii") as out:
                out.write(msgpack.packb(value, use_bin_type=True).hex() + "\n")
    for protocol, make in list(BARE.items()) + list(WRAPPED.items()):
        folder = os.path.join(directory, "python", protocol)
        os.makedirs(folder, exist_ok=True)
        for entry in entries:
            if protocol in WRAPPED and "message" not in entry:
                continue
            memory = TMemoryBuffer()
            capture(entry, make(memory))
            with open(os.path.join(folder, entry["name"] + ".hex"), "w", encoding="ascii") as out:
                out.write(memory.getvalue().hex() + "\n")
