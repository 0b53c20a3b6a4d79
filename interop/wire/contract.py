"""Contracts: from JSON, from descriptions, to descriptions and fingerprints."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any, Iterable

from encoding import DESCRIPTIONS, ENUM, FAMILY, OPTIONAL, REQUIRED, SERVICE, STRUCT, UNION
from encoding import CARRIED, Code, Definition, Field, Reader, Type, deeper, need

ONEWAY, CALLER_STREAM, CALLEE_STREAM = 1, 2, 4
STREAMS = {CALLER_STREAM: "caller_stream", CALLEE_STREAM: "callee_stream"}
FLAGS = (0, ONEWAY, CALLER_STREAM, CALLEE_STREAM, CALLER_STREAM | CALLEE_STREAM)
KINDS = {"struct": STRUCT, "exception": STRUCT, "union": UNION, "enum": ENUM, "family": FAMILY, "service": SERVICE}
PARTS = {Code.LIST: 1, Code.SET: 1, Code.MAP: 2, Code.ARRAY: 1, Code.REF: 1}
NAMED = {Code.ENUM: (ENUM,), Code.STRUCT: (STRUCT, UNION), Code.FAMILY: (FAMILY,), Code.OBJECT: (SERVICE,)}
PRESENCES = {None: 0, "required": REQUIRED, "optional": OPTIONAL}


@dataclass
class Stream:
    item: Type
    exceptions: list[Field] = field(default_factory=list)


@dataclass
class Method:
    name: str
    flags: int = 0
    parameters: list[Field] = field(default_factory=list)
    result: Type | None = None
    exceptions: list[Field] = field(default_factory=list)
    streams: dict[int, Stream] = field(default_factory=dict)
    service: str = ""

    def body(self, kind: str, stream: int) -> Definition:
        """What the body of a CALL, REPLY, ITEM or END is; `stream` is the flag of the stream."""
        if kind == "CALL":
            return Definition(STRUCT, fields=self.parameters)
        if kind == "REPLY":
            result = [Field(0, "result", self.result)] if self.result else []
            return Definition(UNION, fields=result + self.exceptions)
        if kind == "ITEM":
            return Definition(STRUCT, fields=[Field(0, "item", self.streams[stream].item)])
        return Definition(UNION, fields=self.streams[stream].exceptions)


def varint(number: int) -> bytes:
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def zigzag(number: int) -> bytes:
    return varint(number * 2 if number >= 0 else -number * 2 - 1)


def text(string: str) -> bytes:
    return varint(len(string.encode())) + string.encode()


def many(parts: Iterable[bytes]) -> bytes:
    parts = list(parts)
    return varint(len(parts)) + b"".join(parts)


class Describer:
    """Writes a description; `found` are the definitions in the order in which they are named."""

    def __init__(self) -> None:
        self.found: list[Definition] = []

    def type(self, type: Type | None) -> bytes:
        if not type:
            return b"\0"
        if type.code == Code.CARRIED:
            return bytes([type.code, type.number])
        if not type.definition:
            extents = many(varint(extent) for extent in type.extents) if type.extents else b""
            return bytes([type.code]) + extents + b"".join(self.type(part) for part in type.parts)
        return bytes([type.code]) + self.number(type.definition)

    def number(self, definition: Definition) -> bytes:
        numbers = [number for number, known in enumerate(self.found) if known is definition]
        if not numbers:
            self.found.append(definition)
        return varint(numbers[0] if numbers else len(self.found) - 1)

    def fields(self, fields: list[Field], union: bool = False) -> bytes:
        return many(
            zigzag(one.id) + text(one.name) + bytes([0 if union else one.presence]) + self.type(one.type)
            for one in fields
        )

    def definition(self, one: Definition) -> bytes:
        start = bytes([one.kind]) + text(one.name)
        if one.kind == ENUM:
            return start + many(zigzag(number) + text(name) for name, number in one.names.items())
        if one.kind == FAMILY:
            return start + many(map(self.number, one.members))
        if one.kind == SERVICE:
            return start
        return start + self.fields(one.fields, one.kind == UNION)

    def method(self, method: Method) -> bytes:
        start = b"\1" + text(method.name) + bytes([method.flags]) + self.fields(method.parameters)
        start += self.type(method.result) + self.fields(method.exceptions, union=True)
        for _, stream in sorted(method.streams.items()):
            start += self.type(stream.item) + self.fields(stream.exceptions, union=True)
        return start + many(self.definition(one) for one in self.found)  # grows while it is read


def describe(method: Method) -> bytes:
    return Describer().method(method)


def fingerprint(description: bytes) -> bytes:
    return hashlib.sha256(description).digest()[:16]


def canonical(extents: list[int]) -> bool:
    """No array, a single fixed extent, or several of which the last is free."""
    return not extents or (len(extents) == 1) == bool(extents[-1])


def array(item: Type, extents: list[int]) -> Type:
    """The array, or list, of these extents; the last fixed ones are arrays inside it."""
    while extents and extents[-1]:
        item = Type(Code.ARRAY, [item], extents=[extents.pop()])
    if len(extents) > 1:
        return Type(Code.ARRAY, [item], extents=extents)
    return Type(Code.LIST, [item]) if extents else item


class DescriptionReader(Reader):
    def __init__(self, data: bytes):
        super().__init__(data)
        self.definitions: dict[int, Definition] = {}
        self.named: list[Type] = []

    def type(self, depth: int = 0) -> Type | None:
        if self.data[self.at : self.at + 1] == b"\0":
            return self.take(1) and None
        code = self.code(described=True)
        if code == Code.CARRIED:
            number = self.byte()
            need(number in CARRIED.values(), DESCRIPTIONS, f"no type with a carrier has the number {number}")
            return Type(code, number=number)
        extents = [self.varint() for _ in range(self.count())] if code == Code.ARRAY else []
        need(canonical(extents), DESCRIPTIONS, f"an array of the extents {extents}")
        if code in NAMED:
            self.named.append(Type(code, definition=self.numbered()))
            return self.named[-1]
        parts = [self.value_type(deeper(depth)) for _ in range(PARTS.get(code, 0))]
        to_struct = code != Code.REF or parts[0].code in (Code.STRUCT, Code.FAMILY)
        need(to_struct, DESCRIPTIONS, "a reference to what is no struct")
        return Type(code, parts, extents=extents)

    def numbered(self) -> Definition:
        return self.definitions.setdefault(self.varint(), Definition())

    def value_type(self, depth: int = 0) -> Type:
        type = self.type(depth)
        need(type is not None, DESCRIPTIONS, "type 0 stands only for the missing result")
        return type

    def fields(self) -> list[Field]:
        fields = []
        for _ in range(self.count()):
            id, name, presence = self.zigzag(), self.text(), self.byte()
            need(presence <= OPTIONAL, DESCRIPTIONS, f"presence {presence} of {name}")
            fields.append(Field(id, name, self.value_type(), presence))
        return fields

    def definition(self, one: Definition) -> None:
        one.kind, one.name = self.byte(), self.text()
        need(one.kind in (STRUCT, UNION, ENUM, FAMILY, SERVICE), DESCRIPTIONS, f"kind {one.kind} of {one.name}")
        if one.kind == ENUM:
            pairs = [(self.zigzag(), self.text()) for _ in range(self.count())]
            one.names = {name: number for number, name in pairs}
        elif one.kind == FAMILY:
            one.members = [self.numbered() for _ in range(self.count())]
            need(len(one.members) > 0, DESCRIPTIONS, f"the family {one.name} has no structs")
        elif one.kind != SERVICE:
            one.fields = self.fields()

    def method(self) -> Method:
        need(self.byte() == 1, DESCRIPTIONS, "not version 1 of the form")
        method = Method(self.text(), self.byte(), self.fields(), self.type(), self.fields())
        need(method.flags in FLAGS, DESCRIPTIONS, f"flags {method.flags} of {method.name}")
        for flag in STREAMS:
            if method.flags & flag:
                method.streams[flag] = Stream(self.value_type(), self.fields())
        for number in range(self.count()):
            self.definition(self.definitions.setdefault(number, Definition()))
        self.end()
        for type in self.named:
            fits, word = type.definition.kind in NAMED[type.code], type.code.name.lower()
            need(fits, DESCRIPTIONS, f"no {word} has the number that is named")
        members = [member for one in self.definitions.values() for member in one.members]
        need(all(one.kind == STRUCT for one in members), DESCRIPTIONS, "a family has something else than structs")
        need(describe(method) == self.data, DESCRIPTIONS, "the description is not in the canonical form")
        return method


def parse_description(data: bytes) -> Method:
    return DescriptionReader(data).method()


class JsonContract:
    """Names of types refer to `types`, in any order. The family of Animal is called Animal+."""

    def __init__(self, contract: dict[str, Any]):
        types = contract.get("types", {})
        self.types = {name: Definition(KINDS[next(iter(of))], name.rstrip("+")) for name, of in types.items()}
        for name, of in types.items():
            self.define(self.types[name], *of.values())
        self.methods = [self.method(of) for of in contract["methods"]]

    def define(self, one: Definition, parts: Any) -> None:
        if one.kind == ENUM:
            one.names = parts
        elif one.kind == FAMILY:
            one.members = [self.types[name] for name in parts]
        elif one.kind != SERVICE:
            one.fields = self.fields(parts)

    def fields(self, lines: list[str]) -> list[Field]:
        return [self.field(line) for line in lines]

    def field(self, line: str) -> Field:
        match = re.fullmatch(r"(-?\d+): (?:(required|optional) )?(.+) (\w+)", line)
        if not match:
            raise ValueError(f'"{line}" is no field like "1: optional list<i32> name"')
        return Field(int(match[1]), match[4], self.type(match[3]), PRESENCES[match[2]])

    def type(self, string: str) -> Type:
        return self.tokens(iter(re.findall(r"[\w.]+\+?|[<,>*]", string)))

    def tokens(self, tokens: Iterable[str]) -> Type:
        name = next(tokens)
        if name in self.types:
            code = next(code for code, kinds in NAMED.items() if self.types[name].kind in kinds)
            return Type(code, definition=self.types[name])
        if name in CARRIED:
            return Type(Code.CARRIED, number=CARRIED[name])
        if name == "array":
            next(tokens)  # <
            item, extents = self.tokens(tokens), []
            while next(tokens) == ",":
                extent = next(tokens)
                extents.append(0 if extent == "*" else int(extent))
            return array(item, extents)
        parts = []
        if name.upper() not in Code.__members__:
            raise ValueError(f"the contract has no type {name}")
        code = Code[name.upper()]
        if code == Code.REF:
            return Type(code, [self.tokens(tokens)])
        for _ in range(PARTS.get(code, 0)):
            next(tokens)  # < or ,
            parts.append(self.tokens(tokens))
        if parts:
            next(tokens)  # >
        return Type(code, parts)

    def method(self, of: dict[str, Any]) -> Method:
        streams = {
            flag: Stream(self.type(of[key]["item"]), self.fields(of[key].get("exceptions", [])))
            for flag, key in STREAMS.items()
            if key in of
        }
        result = self.type(of["result"]) if "result" in of else None
        parameters, exceptions = self.fields(of.get("parameters", [])), self.fields(of.get("exceptions", []))
        flags = of.get("oneway", False) + sum(streams)
        return Method(of["name"], flags, parameters, result, exceptions, streams, of.get("service", ""))


def key(definition: Definition) -> str:
    return definition.name + "+" * (definition.kind == FAMILY)


def spell(type: Type) -> str:
    if type.code == Code.REF:
        return "ref " + spell(type.parts[0])
    if type.definition:
        return key(type.definition)
    if type.code == Code.CARRIED:
        return next(name for name, number in CARRIED.items() if number == type.number)
    extents = [str(extent or "*") for extent in type.extents]
    parts = f"<{', '.join([*map(spell, type.parts), *extents])}>" if type.parts else ""
    return type.code.name.lower() + parts


def lines(fields: list[Field]) -> list[str]:
    words = {number: f"{word} " if word else "" for word, number in PRESENCES.items()}
    return [f"{one.id}: {words[one.presence]}{spell(one.type)} {one.name}" for one in fields]


def parts(one: Definition) -> Any:
    return one.names or [member.name for member in one.members] or lines(one.fields)


def to_json(method: Method) -> dict[str, Any]:
    """The opposite of JsonContract for one method; an exception is shown as the struct that it is."""
    describer = Describer()
    describer.method(method)
    kinds = {STRUCT: "struct", UNION: "union", ENUM: "enum", FAMILY: "family", SERVICE: "service"}
    types = {key(one): {kinds[one.kind]: parts(one)} for one in describer.found}
    of = {"name": method.name, "oneway": bool(method.flags & ONEWAY), "parameters": lines(method.parameters)}
    if method.result:
        of["result"] = spell(method.result)
    of["exceptions"] = lines(method.exceptions)
    for flag, stream in method.streams.items():
        of[STREAMS[flag]] = {"item": spell(stream.item), "exceptions": lines(stream.exceptions)}
    return {"types": types, "methods": [of]}


def load(source: str) -> list[Method]:
    """The methods of a contract in JSON, or of descriptions in hex, one on each line."""
    if source.lstrip().startswith("{"):
        return JsonContract(json.loads(source)).methods
    return [parse_description(bytes.fromhex(line)) for line in source.split("\n") if line.strip()]


def find(methods: list[Method], service: str, name: str) -> Method | None:
    """A method without a service is one of every service."""
    return next((one for one in methods if one.name == name and (one.service in (service, "") or not service)), None)
