"""Values and descriptions by hand, from the tables of docs/spec/encoding.md."""

import hashlib
import unittest

from contract import JsonContract, describe, fingerprint, load, parse_description, to_json
from encoding import Broken, Definition, decode

TYPES = {
    "Colour": {"enum": {"RED": 1, "BLUE": -2}},
    "Empty": {"struct": []},
    "Point": {"struct": ["1: i8 x", "2: optional bool up", "3: required u8 y"]},
    "Nine": {"struct": [f"{i}: optional i8 f{i}" for i in range(1, 10)]},
    "Either": {"union": ["3: i32 number", "5: string text"]},
    "Tree": {"struct": ["1: list<Tree> branches"]},
    "Animal": {"struct": ["1: string name"]},
    "Cat": {"struct": ["1: string name", "2: required bool hungry"]},
    "Animal+": {"family": ["Animal", "Cat"]},
    "Person": {"struct": ["1: ref Person friend", "2: list<Bond> bonds", "3: ref Animal+ pet"]},
    "Bond": {"struct": ["1: required ref Person to"]},
    "Files": {"service": []},
}

# Fields 32765 to 32767, up to their values.
AGAIN, NODE, TYPE = "04 faff03", "04 fcff03", "0c feff03"
CAT = {"#type": "Cat", "name": "A", "hungry": True}
SELF = {"friend": {"#node": 0, "friend": {"#ref": 0}, "bonds": []}, "bonds": []}
SHARED = {"bonds": [{"to": {"#node": 0, "bonds": []}}, {"to": {"#ref": 0}}], "pet": {"#node": 1, **CAT}}

# Type, tagless, the code and value of tagged, what it is. The value stands alone in a struct, as field 1.
VALUES = [
    ("bool", "01", "01 01", True),
    ("i8", "ff", "02 ff", -1),
    ("i16", "feff", "03 03", -2),
    ("i32", "00000080", "04 ffffffff0f", -(1 << 31)),
    ("i64", "ffffffffffffff7f", "05 feffffffffffffffff01", (1 << 63) - 1),
    ("u8", "ff", "06 ff", 255),
    ("u16", "ffff", "07 ffff03", 65535),
    ("u32", "2c010000", "08 ac02", 300),
    ("u64", "ffffffffffffffff", "09 ffffffffffffffffff01", (1 << 64) - 1),
    ("float", "0000c03f", "0a 0000c03f", 1.5),
    ("double", "000000000000f07f", "0b 000000000000f07f", "Infinity"),
    ("double", "000000000000f87f", "0b 000000000000f87f", "NaN"),
    ("string", "02c3bc", "0c 02c3bc", "ü"),
    ("string", "0141", "0d 0141", "A"),  # a relay took it for a binary
    ("binary", "0200ff", "0d 0200ff", "00ff"),
    ("binary", "0141", "0c 0141", "41"),
    ("uuid", "00112233" * 4, "0e" + "00112233" * 4, "00112233-0011-2233-0011-223300112233"),
    ("Colour", "feffffff", "0f 03", "BLUE"),
    ("Colour", "07000000", "04 0e", 7),
    ("Empty", "00", "10 00", {}),
    ("Point", "00 0509", "10 2205 4609 00", {"x": 5, "y": 9}),
    ("Point", "01 050109", "10 2205 2101 2609 00", {"x": 5, "up": True, "y": 9}),
    ("Point", "00 0609", "10 2205 4609 0202 06 00", {"x": 6, "y": 9}),  # the last of two
    ("Nine", "0101 0708", "10 2207 021208 00", {"f1": 7, "f9": 8}),
    ("Either", "00", "10 00", {}),
    ("Either", "02 0161", "10 ac0161 00", {"text": "a"}),
    ("list<i32>", "02 01000000 02000000", "11 02 04 0204", [1, 2]),
    ("list<i32>", "00", "11 00", []),
    ("set<bool>", "02 0100", "12 02 01 0100", [True, False]),
    ("map<string, list<u8>>", "01 0161 020102", "13 01 0c11 0161 02060102", [["a", [1, 2]]]),
    ("map<i8, i8>", "00", "13 00", []),
    ("Tree", "01 00", "10 310110 3100 00 00", {"branches": [{"branches": []}]}),
    ("Files", "0d", "14 0d", {"object": 6, "of": "receiver"}),
    ("Animal+", "00 0141", "10 2c0141 00", {"name": "A"}),
    ("Animal+", "01 0141 01", f"10 {TYPE}03436174 0c020141 2101 00", CAT),
    ("Person", "00 00 00", "10 5100 00", {"bonds": []}),
    ("Person", "01 02 00 00 00 00", f"10 30 {NODE}00 1002 {AGAIN}00 00 3100 00 3100 00", SELF),
    ("Person", "00 02 01 00 00 00 02 01 01 0141 01",
     f"10 51 0210 30{NODE}00 1104 00 00 00 30{AGAIN}00 00 00 30{NODE}02 2c03436174 0c020141 2101 00 00", SHARED),
    ("array<Bond, 2>", "01 00 00 00 02", f"11 0210 30{NODE}00 1104 00 00 00 30{AGAIN}00 00 00", SHARED["bonds"]),
    ("timestamp", "ffffffffffffffff 0065cd1d", "10 2501 24 8094ebdc03 00", {"seconds": -1, "nanos": 500_000_000}),
    ("timestamp_tz", "00" * 12 + "f0f1ffff", "10 2500 2400 249f38 00", {"seconds": 0, "nanos": 0, "offset": -3600}),
    ("duration", "01" + "00" * 11, "10 2502 2400 00", {"seconds": 1, "nanos": 0}),
    ("date", "02000000", "04 04", 2),
    ("decimal", "06 2d31322e3530", "0c 06 2d31322e3530", "-12.50"),
    ("any", "00 0141 01ff 01000000", "10 2c0141 2d01ff 2402 00", {"type_url": "A", "value": "ff", "encoding": 1}),
    ("any", "01 0141 01ff 01000000 01fe", "10 2c0141 2d01ff 2402 2d01fe 00", {"type_url": "A", "value": "ff", "encoding": 1, "contract": "fe"}),
    ("dynamic", "07 ffffffffffffffff", "10 e501 00", {"int_value": -1}),
    ("dynamic", "06 01 04 01", "10 d0 31 01 10 8101 00 00 00", {"list_value": {"values": [{"bool_value": True}]}}),
    ("array<i16, 2>", "0100 ffff", "11 02 03 0201", [1, -1]),
    ("array<bool, 2, 1>", "01 00", "11 02 11 010101 010100", [[True], [False]]),
    ("array<u8, *>", "01 07", "11 01 06 07", [7]),
    ("array<u8, *, 2>", "01 0708", "11 01 11 02060708", [[7, 8]]),
    (
        "array<u8, 1, *>",
        "02 01000000 02000000 02 0708",
        "10 31020801 02 31 02 06 0708 00",
        {"extents": [1, 2], "elements": [7, 8]},
    ),
]

BROKEN_VALUES = [
    ("bool", "02", "01 02"),
    ("i8", "", "03 01"),
    ("i16", "00", "03 ffff07"),
    ("u8", "0000", "06 00 00"),
    ("u64", "00", "09 ffffffffffffffffff02"),
    ("string", "01ff", "0c 01ff"),
    ("string", "05 61", "0c 05 61"),
    ("Empty", "01", "10 2000"),
    ("Point", "02 050109", "10 2205 00"),  # a bit without a field; a required field is missing
    ("Either", "03 0161", "10 6402 4c0161 00"),  # no such place; two values
    ("list<i32>", "ff7f 00", "11 ff7f 04 00"),
    ("list<i32>", "01", "11 01 15 00"),
    ("list<i32>", "01 00", "12 00"),
    ("Animal+", "02 0141", f"10 {TYPE}03436174 0c020141 00"),  # no such place; a cat without what it requires
    ("Person", "03 00 00", f"10 30 {AGAIN}02 00 3100 00"),  # a node that has not come
    ("Person", "01 00 00 00 00 02", f"10 30 {NODE}00 00 5100 30 {AGAIN}00 00 00"),  # one of another type
    ("Bond", "00", "10 00"),  # a required reference to nothing
    ("Person", "01", f"10 30 {NODE}00 00 50 {NODE}00 00 00"),  # a number twice
    ("Person", "01", f"10 30 {AGAIN}00 3100 00"),  # fields behind a number
    ("array<u8, 2>", "01", "11 01 06 01"),
    ("array<u8, *, *>", "02 01000000 02000000 01 07", "10 31020801 02 31 01 06 07 00"),
    ("array<u8, 2, *>", "02 01000000 01000000 01 07", "10 31020801 01 31 01 06 07 00"),
    ("date", "00", "05 00"),
]


def definition(type: str) -> Definition:
    method = {"name": "m", "parameters": [f"1: {type} value"]}
    return JsonContract({"types": TYPES, "methods": [method]}).methods[0].body("CALL", 0)


def tagged(code_and_value: str) -> bytes:
    value = bytes.fromhex(code_and_value)
    return bytes([1 << 5 | value[0]]) + value[1:] + b"\0"


class Values(unittest.TestCase):
    def test_both_encodings(self) -> None:
        for type, plain, with_code, value in VALUES:
            with self.subTest(type=type, value=value):
                self.assertEqual(decode(bytes.fromhex(plain), definition(type), False), {"value": value})
                self.assertEqual(decode(tagged(with_code), definition(type), True), {"value": value})

    def test_nodes_behind_the_value(self) -> None:
        """A circle of two, and of an animal, each behind the value. The one that is named last comes first."""
        second = {"#node": 1, "friend": {"#ref": 0}, "bonds": []}
        first = {"#node": 0, "friend": second, "bonds": [], "pet": {"#node": 2, **CAT}}
        value = {"friend": first, "bonds": []}
        plain = bytes.fromhex("02 00 00  03 00 04  01 0141 01  02 00 00")
        person, cat = f"30{AGAIN}03 00", f"{TYPE}03436174 0c020141 2101 00"
        with_tags = tagged(f"10 30{AGAIN}01 00 00") + bytes.fromhex(f"{person} 50{AGAIN}05 00 00 {cat} 30{AGAIN}00 00 00")
        self.assertEqual(decode(plain, definition("Person"), False), {"value": value})
        del value["bonds"], first["bonds"], second["bonds"]
        self.assertEqual(decode(with_tags, definition("Person"), True), {"value": value})
        for body, is_tagged in (plain, False), (with_tags, True):
            for broken in body[:-3], body + b"\0":
                with self.subTest(body=broken.hex()), self.assertRaises(Broken):
                    decode(broken, definition("Person"), is_tagged)

    def test_what_is_broken(self) -> None:
        for type, plain, with_code in BROKEN_VALUES:
            for body, is_tagged in (bytes.fromhex(plain), False), (tagged(with_code), True):
                with self.subTest(type=type, body=body.hex()), self.assertRaises(Broken):
                    decode(body, definition(type), is_tagged)

    def test_unknown_fields_are_kept(self) -> None:
        body = bytes.fromhex("2202 f1 02 0c 0161 0162 0b01 000000000000f03f 00")
        self.assertEqual(decode(body, definition("i8"), True), {"value": 2, "8": ["a", "b"], "-1": 1.0})

    def test_depth(self) -> None:
        for depth, holds in (90, True), (150, False):
            body = bytes.fromhex("30" * depth + "00" * (depth + 1))
            with self.subTest(depth=depth):
                if holds:
                    decode(body, None, True)
                else:
                    self.assertRaises(Broken, decode, body, None, True)


def text(string: str) -> bytes:
    return bytes([len(string)]) + string.encode()


# A method, and its description by hand.
DESCRIPTIONS = [
    ({"name": "ping"}, b"\1" + text("ping") + b"\0" + b"\0" + b"\0" + b"\0" + b"\0"),
    (
        {"name": "add", "parameters": ["1: i32 a", "-2: optional i64 b"], "result": "i32"},
        b"\1" + text("add") + b"\0" + b"\2" + b"\2" + text("a") + b"\0\4" + b"\3" + text("b") + b"\2\5" + b"\4\0\0",
    ),
    ({"name": "log", "oneway": True, "parameters": ["1: map<i8, list<Colour>> m"]},
        b"\1" + text("log") + b"\1" + b"\1" + b"\2" + text("m") + b"\0\x13\2\x11\x0f\0" + b"\0\0"
        + b"\1\3" + text("Colour") + b"\2" + b"\2" + text("RED") + b"\3" + text("BLUE")),
    ({"name": "grow", "parameters": ["1: Tree t"], "result": "Either", "exceptions": ["1: Empty e"]},
        b"\1" + text("grow") + b"\0" + b"\1" + b"\2" + text("t") + b"\0\x10\0" + b"\x10\1"
        + b"\1" + b"\2" + text("e") + b"\0\x10\2"
        + b"\3" + b"\1" + text("Tree") + b"\1" + b"\2" + text("branches") + b"\0\x11\x10\0"
        + b"\2" + text("Either") + b"\2" + b"\6" + text("number") + b"\0\4" + b"\x0a" + text("text") + b"\0\x0c"
        + b"\1" + text("Empty") + b"\0"),
    ({"name": "pet", "parameters": ["1: required ref Animal+ it"], "result": "Animal"},
        b"\1" + text("pet") + b"\0" + b"\1" + b"\2" + text("it") + b"\1\x1a\x1b\0" + b"\x10\1" + b"\0"
        + b"\3" + b"\4" + text("Animal") + b"\2\1\2" + b"\1" + text("Animal") + b"\1" + b"\2" + text("name") + b"\0\x0c"
        + b"\1" + text("Cat") + b"\2" + b"\2" + text("name") + b"\0\x0c" + b"\4" + text("hungry") + b"\1\1"),
    ({"name": "push", "caller_stream": {"item": "list<Empty>", "exceptions": ["2: Empty e"]}, "result": "bool"},
        b"\1" + text("push") + b"\2" + b"\0\1\0" + b"\x11\x10\0\1" + b"\4" + text("e") + b"\0\x10\0"
        + b"\1" + b"\1" + text("Empty") + b"\0"),
    ({"name": "talk", "caller_stream": {"item": "u8"},
      "callee_stream": {"item": "uuid", "exceptions": ["1: Empty e"]}},
        b"\1" + text("talk") + b"\6" + b"\0\0\0" + b"\6\0" + b"\x0e\1" + b"\2" + text("e") + b"\0\x10\0"
        + b"\1" + b"\1" + text("Empty") + b"\0"),
    ({"name": "open", "parameters": ["1: list<Files> near"], "result": "Files"},
        b"\1" + text("open") + b"\0" + b"\1" + b"\2" + text("near") + b"\0\x11\x14\0" + b"\x14\0" + b"\0"
        + b"\1" + b"\5" + text("Files")),
    ({"name": "when", "parameters": ["1: timestamp_tz t", "2: array<float, *, *, 3> a"], "result": "dynamic"},
        b"\1" + text("when") + b"\0" + b"\2" + b"\2" + text("t") + b"\0\x15\2"
        + b"\4" + text("a") + b"\0\x16\2\0\0\x16\1\3\x0a" + b"\x15\7\0\0"),
]  # fmt: skip


class Contracts(unittest.TestCase):
    def test_descriptions(self) -> None:
        for of, description in DESCRIPTIONS:
            with self.subTest(method=of["name"]):
                (method,) = JsonContract({"types": TYPES, "methods": [of]}).methods
                self.assertEqual(describe(method).hex(), description.hex())
                self.assertEqual(fingerprint(description), hashlib.sha256(description).digest()[:16])
                again = JsonContract(to_json(parse_description(description))).methods[0]
                self.assertEqual(describe(again), description)

    def test_a_known_fingerprint(self) -> None:
        # printf '\\x01\\x04ping\\0\\0\\0\\0\\0' | sha256sum
        self.assertEqual(fingerprint(DESCRIPTIONS[0][1]).hex(), "f5421e87c20c1dd70233e4b613e262bd")

    def test_broken_descriptions(self) -> None:
        ping = DESCRIPTIONS[0][1].hex()
        rows = [
            "02" + ping[2:],  # version 2
            *(ping[:12] + flags + ping[14:] for flags in ("08", "03", "02")),  # no such flag; one-way; no item
            ping + "00",
            ping[:-2] + "01 01 0141 00",  # a definition that nothing names
            ping[:-6] + "1400 00 01 01 0141 00",  # an object of a struct
            ping[:-6] + "1000 00 00",  # a name that nothing defines
            ping[:-6] + "11" * 999,
            ping[:-6] + "1a" * 999,
            ping[:-6] + "1a04 00 00",  # a reference to a number
            ping[:-6] + "1b00 00 01 04 0141 00",  # a family of nothing
            ping[:-6] + "1b00 00 01 04 0141 01 00",  # a family of itself
            ping[:-6] + "1508 00 00",  # a type with a carrier that does not exist
            ping[:-6] + "16020203 04 00 00",  # two fixed extents, which are two arrays
        ]
        for description in rows:
            with self.subTest(description=description), self.assertRaises(Broken):
                load(description)

