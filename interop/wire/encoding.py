"""Values and descriptions, read as docs/spec/encoding.md says."""

import math
import struct
import uuid
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

MOST_DEPTH = 100


class Broken(ValueError):
    """A rule of the specification is broken; `rule` is the place that states it."""

    def __init__(self, rule: str, what: str):
        super().__init__(what)
        self.rule = rule

    def json(self) -> dict[str, str]:
        return {"rule": self.rule, "what": str(self)}


def need(holds: bool, rule: str, what: str) -> None:
    if not holds:
        raise Broken(rule, what)


TAGLESS, TAGGED = "encoding.md#tagless", "encoding.md#tagged"
ARRAYS = "encoding.md#types-with-a-carrier"
LIMITS, DESCRIPTIONS = "encoding.md#limits", "encoding.md#descriptions-and-fingerprints"
IDENTITY = "encoding.md#families-and-references"

VALUES = "BOOL I8 I16 I32 I64 U8 U16 U32 U64 FLOAT DOUBLE STRING BINARY UUID ENUM STRUCT LIST SET MAP OBJECT".split()
# Types in descriptions: tagged, they are others.
DESCRIBED = {"CARRIED": 21, "ARRAY": 22, "REF": 26, "FAMILY": 27}
Code = IntEnum("Code", {name: code for code, name in enumerate(VALUES, 1)} | DESCRIBED)
WITH_CARRIER = (Code.CARRIED, Code.ARRAY)

# Reserved ids of structs.
AGAIN, NODE, TYPE = 32765, 32766, 32767

INTEGERS = {Code[f"{sign}{bits}"]: (bits, sign == "I") for sign in "IU" for bits in (8, 16, 32, 64)}

# A relay that does not know the contract may send the one as the other.
SAME = {Code.BINARY: Code.STRING, Code.ENUM: Code.I32, Code.REF: Code.STRUCT, Code.FAMILY: Code.STRUCT}


@dataclass
class Definition:
    kind: int = 0  # STRUCT, UNION, ENUM, FAMILY, SERVICE
    name: str = ""
    fields: list["Field"] = field(default_factory=list)
    members: list["Definition"] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)


STRUCT, UNION, ENUM, FAMILY, SERVICE = 1, 2, 3, 4, 5


@dataclass
class Type:
    code: Code
    parts: list["Type"] = field(default_factory=list)
    definition: Definition | None = None
    number: int = 0  # of a type with a carrier
    extents: list[int] = field(default_factory=list)


@dataclass
class Field:
    id: int
    name: str
    type: Type
    presence: int = 0  # 0 always there, REQUIRED, OPTIONAL


REQUIRED, OPTIONAL = 1, 2


def struct_of(kind: int = STRUCT, **fields: Type) -> Type:
    numbered = [Field(id, name, type) for id, (name, type) in enumerate(fields.items(), 1)]
    return Type(Code.STRUCT, definition=Definition(kind, fields=numbered))


TEXT, BLOB, SECONDS, NANOS = Type(Code.STRING), Type(Code.BINARY), Type(Code.I64), Type(Code.I32)
DYNAMIC = Type(Code.CARRIED, number=7)

# What goes over the wire, by the number in descriptions.
CARRIERS = {
    1: struct_of(seconds=SECONDS, nanos=NANOS),
    2: struct_of(seconds=SECONDS, nanos=NANOS, offset=Type(Code.I32)),
    3: Type(Code.I32),
    4: struct_of(seconds=SECONDS, nanos=NANOS),
    5: TEXT,
    6: struct_of(type_url=TEXT, value=BLOB, encoding=Type(Code.I32), contract=BLOB),
    7: struct_of(
        UNION,
        null_value=Type(Code.ENUM),
        number_value=Type(Code.DOUBLE),
        string_value=TEXT,
        bool_value=Type(Code.BOOL),
        struct_value=struct_of(fields=Type(Code.MAP, [TEXT, DYNAMIC])),
        list_value=struct_of(values=Type(Code.LIST, [DYNAMIC])),
        int_value=Type(Code.I64),
        uint_value=Type(Code.U64),
        bytes_value=BLOB,
        uuid_value=Type(Code.UUID),
    ),
}
CARRIERS[6].definition.fields[3].presence = OPTIONAL
CARRIED = {name: number for number, name in enumerate("timestamp timestamp_tz date duration decimal any dynamic".split(), 1)}


def carrier(type: Type) -> Type:
    """The type that goes over the wire in the place of this one."""
    if type.code == Code.CARRIED:
        return CARRIERS[type.number]
    if type.code == Code.ARRAY and 0 in type.extents:
        return struct_of(extents=Type(Code.LIST, [Type(Code.U32)]), elements=Type(Code.LIST, type.parts))
    if type.code == Code.ARRAY:
        return Type(Code.LIST, type.parts)
    return type


def check_array(type: Type, value: Any) -> None:
    """An array has the extents of its type, and as many elements as they make."""
    if type.code == Code.ARRAY and 0 in type.extents:
        extents = value.get("extents", [])
        fits = len(extents) == len(type.extents) and all(a in (0, b) for a, b in zip(type.extents, extents))
        fits = fits and math.prod(extents) == len(value.get("elements", []))
        need(fits, ARRAYS, f"an array of {extents} with {len(value.get('elements', []))} elements")
    elif type.code == Code.ARRAY:
        need(len(value) == type.extents[0], ARRAYS, f"{len(value)} elements instead of {type.extents[0]}")


class Reader:
    """Takes a complete message apart."""

    def __init__(self, data: bytes):
        self.data, self.at = bytes(data), 0
        self.nodes: dict[int, Definition] = {}  # those that references lead to, by number
        self.later: list[tuple[dict[str, Any], Type]] = []  # those that come behind the value, the next one last

    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        need(count <= self.left(), LIMITS, f"{count} bytes needed at {self.at}, {self.left()} are left")
        self.at += count
        return self.data[self.at - count : self.at]

    def rest(self) -> bytes:
        return self.take(self.left())

    def end(self) -> None:
        need(not self.left(), LIMITS, f"{self.left()} bytes are left over")

    def byte(self) -> int:
        return self.take(1)[0]

    def varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            group = self.byte()
            number |= (group & 0x7F) << shift
            if group < 0x80:
                break
        need(group < 0x80 and number < 1 << 64, "encoding.md", "a varint of more than 64 bits")
        return number

    def zigzag(self) -> int:
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def count(self) -> int:
        count = self.varint()
        need(count <= self.left(), LIMITS, f"a count of {count}, with {self.left()} bytes left")
        return count

    def blob(self) -> bytes:
        return self.take(self.count())

    def text(self) -> str:
        try:
            return self.blob().decode()
        except UnicodeDecodeError as error:
            raise Broken("encoding.md", f"a text that is not UTF-8: {error}") from None

    def code(self, described: bool = False) -> Code:
        code = self.byte()
        known = code in list(Code) and (described or code <= len(VALUES))
        need(known, DESCRIPTIONS if described else TAGGED, f"type {code} does not exist")
        return Code(code)

    def node(self, number: int, definition: Definition) -> None:
        need(number >= 0 and number not in self.nodes, IDENTITY, f"{number} is no number of a new node")
        self.nodes[number] = definition

    def behind(self, number: int, type: Type) -> dict[str, Any]:
        """A node that comes behind the value."""
        self.node(number, type.definition)
        node = {"#node": number}
        self.later.append((node, type))
        return node

    def again(self, number: int, definition: Definition) -> dict[str, Any]:
        need(self.nodes.get(number) is definition, IDENTITY, f"there is no node {number} of the type {definition.name}")
        return {"#ref": number}


def integer(reader: Reader, code: Code, tagged: bool) -> int:
    bits, signed = INTEGERS[code]
    if not tagged or bits == 8:
        return int.from_bytes(reader.take(bits // 8), "little", signed=signed)
    number = reader.zigzag() if signed else reader.varint()
    lowest = -(1 << bits - 1) if signed else 0
    need(lowest <= number < lowest + (1 << bits), TAGGED, f"{number} does not fit {code.name.lower()}")
    return number


def real(reader: Reader, code: Code) -> float | str:
    size, letter = (4, "<f") if code == Code.FLOAT else (8, "<d")
    (number,) = struct.unpack(letter, reader.take(size))
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def boolean(reader: Reader) -> bool:
    byte = reader.byte()
    need(byte < 2, TAGLESS, f"{byte} is no bool")
    return byte == 1


def target(number: int) -> dict[str, Any]:
    call = (number >> 1) - 2**32
    if number & 1 and call >= 0:
        return {"answer_of": call}
    return {"object": number >> 1, "of": "receiver" if number & 1 else "sender"}


def scalar(reader: Reader, type: Type, tagged: bool) -> Any:
    match type.code:
        case Code.BOOL:
            return boolean(reader)
        case Code.FLOAT | Code.DOUBLE:
            return real(reader, type.code)
        case Code.STRING:
            return reader.text()
        case Code.BINARY:
            return reader.blob().hex()
        case Code.UUID:
            return str(uuid.UUID(bytes=reader.take(16)))
        case Code.OBJECT:
            return target(reader.varint())
        case Code.ENUM:
            number = integer(reader, Code.I32, tagged)
            names = type.definition.names if type.definition else {}
            return next((name for name, value in names.items() if value == number), number)
    return integer(reader, type.code, tagged)


def deeper(depth: int) -> int:
    need(depth < MOST_DEPTH, LIMITS, f"deeper than {MOST_DEPTH}")
    return depth + 1


def tagless(reader: Reader, type: Type, depth: int = 0) -> Any:
    if type.code == Code.ARRAY and 0 not in type.extents:
        return [tagless(reader, type.parts[0], deeper(depth)) for _ in range(type.extents[0])]
    if type.code in WITH_CARRIER:
        value = tagless(reader, carrier(type), depth)
        check_array(type, value)
        return value
    match type.code:
        case Code.LIST | Code.SET:
            return [tagless(reader, type.parts[0], deeper(depth)) for _ in range(reader.count())]
        case Code.MAP:
            return [[tagless(reader, part, deeper(depth)) for part in type.parts] for _ in range(reader.count())]
        case Code.STRUCT if type.definition.kind == UNION:
            return tagless_union(reader, type.definition.fields, deeper(depth))
        case Code.STRUCT:
            return tagless_struct(reader, type.definition.fields, deeper(depth))
        case Code.FAMILY:
            return tagless_member(reader, type.definition.members, depth)
        case Code.REF:
            return tagless_ref(reader, type.parts[0], depth)
    return scalar(reader, type, tagged=False)


def tagless_member(reader: Reader, members: list[Definition], depth: int) -> dict[str, Any]:
    place = reader.varint()
    need(place < len(members), IDENTITY, f"place {place} in a family of {len(members)} structs")
    name = {"#type": members[place].name} if place else {}
    return name | tagless(reader, Type(Code.STRUCT, definition=members[place]), depth)


def tagless_ref(reader: Reader, type: Type, depth: int) -> dict[str, Any] | None:
    """None where it leads to nothing."""
    number = reader.varint()
    if number == len(reader.nodes) + 2:
        return reader.behind(number - 2, type)
    if number > 1:
        return reader.again(number - 2, type.definition)
    if number == 0:
        return None
    node = {"#node": len(reader.nodes)}
    reader.node(len(reader.nodes), type.definition)
    return node | tagless(reader, type, depth)


def tagless_struct(reader: Reader, fields: list[Field], depth: int) -> dict[str, Any]:
    if not fields:
        need(reader.byte() == 0, TAGLESS, "a struct without fields is one zero byte")
    optional = [one.name for one in fields if one.presence == OPTIONAL]
    bits = int.from_bytes(reader.take((len(optional) + 7) // 8), "little")
    need(not bits >> len(optional), TAGLESS, "a presence bit without a field is set")
    absent = {name for i, name in enumerate(optional) if not bits >> i & 1}
    values = {one.name: tagless(reader, one.type, depth) for one in fields if one.name not in absent}
    nothing = {one.name for one in fields if one.name in values and values[one.name] is None}
    required = [one.name for one in fields if one.presence == REQUIRED and one.name in nothing]
    need(not required, TAGLESS, f"required references lead to nothing: {required}")
    return {name: value for name, value in values.items() if name not in nothing}


def tagless_union(reader: Reader, fields: list[Field], depth: int) -> dict[str, Any]:
    place = reader.varint()
    need(place <= len(fields), TAGLESS, f"place {place} in a union of {len(fields)} fields")
    return {one.name: tagless(reader, one.type, depth) for one in fields[place - 1 : place] if place}


def tagged(reader: Reader, code: Code, type: Type | None, depth: int = 0) -> Any:
    """A value of the type `code`; without `type`, the contract does not know it."""
    if type and type.code in WITH_CARRIER:
        value = tagged(reader, code, carrier(type), depth)
        check_array(type, value)
        return value
    type = type or Type(code)
    need(
        SAME.get(code, code) == SAME.get(type.code, type.code),
        TAGGED,
        f"{code.name.lower()} where the contract has {type.code.name.lower()}",
    )
    match code:
        case Code.LIST | Code.SET | Code.MAP:
            return tagged_container(reader, code, type.parts, deeper(depth))
        case Code.STRUCT:
            return tagged_struct(reader, type, deeper(depth))
    return scalar(reader, type, tagged=True)


def tagged_container(reader: Reader, code: Code, parts: list[Type], depth: int) -> list[Any]:
    count = reader.count()
    if not count:
        return []
    if code != Code.MAP:
        element, known = reader.code(), parts[0] if parts else None
        return [tagged(reader, element, known, depth) for _ in range(count)]
    pair = list(zip((reader.code(), reader.code()), parts or (None, None)))
    return [[tagged(reader, part, known, depth) for part, known in pair] for _ in range(count)]


def tagged_struct(reader: Reader, type: Type, depth: int) -> dict[str, Any]:
    """A field that the contract does not know is called by its id."""
    is_node, type = type.code == Code.REF, type.parts[0] if type.code == Code.REF else type
    declared = type.definition
    members = declared.members if type.code == Code.FAMILY else []
    definition = members[0] if members else declared
    values, id, first = {}, 0, True
    while head := reader.byte():
        code = Reader(bytes([head & 31])).code()
        id = id + (head >> 5) if head >> 5 else reader.zigzag()
        one = next((one for one in definition.fields if one.id == id), None) if definition else None
        value = tagged(reader, code, one and one.type, depth)
        if first and is_node and id == AGAIN:
            need(not reader.byte(), IDENTITY, "a node that comes again has no other fields")
            return reader.again(value, declared) if value >= 0 else reader.behind(-1 - value, type)
        if first and is_node and id == NODE:
            reader.node(value, declared)
            values["#node"] = value
            continue
        member = [known for known in members if first and id == TYPE and known.name == value]
        first = False
        if member:
            definition, values["#type"] = member[0], value
        else:
            values[one.name if one else str(id)] = value
    if definition and definition.kind == UNION:
        need(len(values) < 2, TAGGED, f"a union with {len(values)} values")
    elif definition:
        missing = [one.name for one in definition.fields if one.presence == REQUIRED and one.name not in values]
        need(not missing, TAGGED, f"required fields are missing: {missing}")
    return values


def decode(body: bytes, definition: Definition | None, is_tagged: bool) -> dict[str, Any]:
    """The whole of a body: parameters, an answer, an item, the exception of a stream."""
    reader, type = Reader(body), Type(Code.STRUCT, definition=definition)

    def read(type: Type) -> Any:
        return tagged(reader, Code.STRUCT, type) if is_tagged else tagless(reader, type)

    value = read(type)
    while reader.later:
        node, type = reader.later.pop()
        node.update(read(type))
    reader.end()
    return value
