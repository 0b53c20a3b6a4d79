"""Conversations by hand, from the tables of docs/spec/wire.md: python3 -m unittest discover interop/wire"""

import json
import unittest

import decoder
from contract import describe, fingerprint, load
from state import Json

CONTRACT = json.dumps(
    {
        "types": {"Bad": {"exception": ["1: string why"]}, "File": {"service": []}},
        "methods": [
            {"name": "add", "parameters": ["1: i32 a"], "result": "i32", "exceptions": ["1: Bad bad"]},
            {"name": "log", "oneway": True},
            {"name": "sum", "caller_stream": {"item": "i32", "exceptions": ["1: Bad bad"]}, "result": "i64"},
            {"name": "count", "callee_stream": {"item": "i32", "exceptions": ["1: Bad bad"]}},
            {
                "name": "open",
                "result": "string",
                "exceptions": ["1: Bad bad"],
                "callee_stream": {"item": "i32", "exceptions": ["1: Bad bad"]},
            },
            {"name": "talk", "caller_stream": {"item": "string"}, "callee_stream": {"item": "string"}},
            {"name": "file", "parameters": ["1: list<File> like"], "result": "File"},
            {"name": "files", "callee_stream": {"item": "File"}},
        ],
    }
)
DESCRIPTIONS = {method.name: describe(method) for method in load(CONTRACT)}
ADD = DESCRIPTIONS["add"].hex()


def bind(slot: int, name: str, flags: int, known: bool = True) -> str:
    stated = fingerprint(DESCRIPTIONS[name]).hex() if known else "11" * 16
    return f"> 02 {slot} {flags:02x} 00 {len(name):02x} {name.encode().hex()} {stated}"


HELLOS = ["> 01 0 01", "< 01 0 01 07 03"]  # the server decompresses zstd and lz4
ADD_BOUND = [*HELLOS, bind(0, "add", 0), "< 03 0 00 00"]
CALLED = [*ADD_BOUND, "> 05 1 00 02000000"]
LOG = [*HELLOS, bind(0, "log", 1), "> 45 1 00 00"]
SUM = [*HELLOS, bind(0, "sum", 2), "< 03 0 00 00", "> 05 1 00 00"]
COUNT = [*HELLOS, bind(0, "count", 4), "< 03 0 00 00", "> 05 1 00 00"]
COUNTS = [*COUNT, "< 06 1 00"]
OPEN = [*HELLOS, bind(0, "open", 4), "< 03 0 00 00", "> 05 1 00 00"]
OPENED = [*OPEN, "< 06 1 01 0161"]
REFUSED = [*OPEN, "< 06 1 02 026e6f"]
TALK = [*HELLOS, bind(0, "talk", 6), "< 03 0 00 00", "> 05 1 00 00"]
TALKS = [*TALK, "< 06 1 00"]
TALKED = [*TALKS, "> 0a 1", "< 0a 1"]
FILE = [*HELLOS, bind(0, "file", 0), "< 03 0 00 00", "> 05 1 00 01 06"]  # passes object 3
GIVEN = [*FILE, "< 06 1 01 0e"]  # returns object 7
PROMISED = [*HELLOS, bind(0, "file", 0), "< 03 0 00 00", "> 85 1 00 10 00"]
FORGOTTEN = [*PROMISED, "< 06 1 01 0e", "> 08 1"]
SMALL = ["> 01 0 01 0306", "< 01 0 01", *COUNTS[2:]]  # the client takes 6 bytes of items on a stream
FULL = [*SMALL, "< 09 1 05000000", "< 09 1 06000000"]
TIGHT = ["> 01 0 01 0406", *FULL[1:]]  # on all streams together
SLOW = ["> 01 0 01", "< 01 0 01 0301", *SUM[2:]]  # the server takes 1 byte of items on a stream
OTHER = [*HELLOS, bind(0, "add", 0, known=False)]
KEPT = "> c5 1 00 08 01 01 0161 0178 00"  # keeps the header a: x

# The frames so far, the last one, and what the last message has to say.
GOOD = [
    ([], "> 01 0 01 01808002 0400 6305", {"kind": "HELLO", "version": 1}),
    (HELLOS, bind(0, "add", 0), {"kind": "BIND", "method": "add", "contract": "equal"}),
    ([*HELLOS, bind(0, "add", 0)], "< 03 0 03 026e6f", {"kind": "BOUND", "verdict": "unknown", "text": "no"}),
    (
        [*HELLOS, bind(0, "add", 0), "< 03 0 04 00"],
        f"> 04 0 {ADD}",
        {"kind": "DESCRIBE", "types": {"Bad": {"struct": ["1: string why"]}}},
    ),
    ([*HELLOS, bind(0, "add", 0), "< 03 0 04 00", f"> 04 0 {ADD}"], "< 03 0 01 00", {"verdict": "compatible"}),
    (ADD_BOUND, "> 05 1 00 02000000", {"kind": "CALL", "slot": 0, "encoding": "tagless", "body": {"a": 2}}),
    (ADD_BOUND, "> 45 1 00 2404 2c0178 00", {"encoding": "tagged", "body": {"a": 2, "2": "x"}}),
    (CALLED, "< 06 1 01 05000000", {"kind": "REPLY", "encoding": "tagless", "body": {"result": 5}}),
    (CALLED, "< 46 1 04000a 00", {"encoding": "tagged", "body": {"result": 5}}),
    (CALLED, "< 06 1 02 026e6f", {"body": {"bad": {"why": "no"}}}),
    (CALLED, "< 46 1 30 2c026e6f 00 00", {"body": {"bad": {"why": "no"}}}),
    (CALLED, "< 07 1 04 01 026e6f ff00", {"code": "DEADLINE_EXCEEDED", "execution": "not started", "details": "ff00"}),
    (CALLED, "> 08 1", {"kind": "CANCEL"}),
    ([*CALLED, "> 08 1"], "< 07 1 01 02 00", {"code": "CANCELLED", "execution": "may have run"}),
    ([*CALLED, "< 06 1 01 05000000"], "> 08 1", {"ignored": True}),
    ([*CALLED, "< 06 1 01 05000000"], "> 05 1 00 03000000", {"id": 1, "body": {"a": 3}}),
    (HELLOS, "> 0c 0 0102030405060708", {"kind": "PING", "data": "0102030405060708"}),
    ([*HELLOS, "> 0c 0 0102030405060708"], "< 0d 0 0102030405060708", {"kind": "PONG"}),
    (CALLED, "< 0e 0 01 00", {"kind": "DRAIN", "last": 1, "why": ""}),
    ([*CALLED, "< 0e 0 01 00"], "> 05 3 00 02000000", {"not_started": True}),
    ([*TALKS, "< 0e 0 01 00"], "> 09 1 0161", {"body": {"item": "a"}}),
    ([*SUM, "< 0e 0 00 00"], "> 09 1 05000000", {"kind": "ITEM"}),
    (GIVEN, "> 0f 7 01", {"kind": "RELEASE", "id": 7, "count": 1, "left": 0}),
    (GIVEN, "> 05 3 00 01 0f", {"body": {"like": [{"object": 7, "of": "receiver"}]}}),
    (FILE, "< 0f 3 01", {"kind": "RELEASE", "count": 1}),
    ([*FILE, "> 05 3 00 02 06 06", "< 06 1 01 07"], "< 0f 3 02", {"count": 2, "left": 1}),
    (PROMISED, "> 85 3 00 14 03 00", {"target": {"answer_of": 1}, "promise": True}),
    (PROMISED, "> 85 3 00 20 01 01 01 8380808020", {"results": [1], "body": {"like": [{"answer_of": 1}]}}),
    (FORGOTTEN[:-1], "> 08 1", {"kind": "CANCEL", "forgets": True}),
    (FORGOTTEN, "> 08 1", {"ignored": True}),
    (HELLOS, "< 10 0 0d 00", {"kind": "GOODBYE", "code": "INTERNAL"}),
    # extras
    (ADD_BOUND, "> c5 1 00 01 8002 00", {"deadline_us": 256, "body": {}}),
    (ADD_BOUND, "> c5 1 00 02 01 05 aabb", {"compression": {"method": "zstd", "size": 5}, "body_hex": "aabb"}),
    (TALKS, "> 89 1 02 02 0b 20 0a61 0100 50 6161616161", {"body": {"item": "aaaaaaaaaa"}}),
    (ADD_BOUND, "> c5 1 00 04 0c 00", {"target": {"object": 6}}),
    (ADD_BOUND, KEPT, {"headers": [{"name": "a", "value": "78", "number": 0}]}),
    ([*ADD_BOUND, KEPT], KEPT.replace("5 1", "5 3"), {"headers": [{"name": "a", "value": "78", "number": 1}]}),
    ([*ADD_BOUND, KEPT], "> c5 3 00 08 02 02 00 0162 00 00", {"headers": [
        {"name": "a", "value": "78", "number": 0}, {"name": "b", "value": ""}]}),
    # several frames, with others in between
    ([*ADD_BOUND, "> a5 1 00 01 05 0200", "> 05 3 00 07000000", "> 25 1 "], "> 05 1 0000", {
        "id": 1, "frames": 3, "deadline_us": 5, "body": {"a": 2}}),
    # streams
    (LOG, "> 45 3 00 00", {"kind": "CALL", "id": 3, "body": {}}),
    (SUM, "> 09 1 05000000", {"kind": "ITEM", "encoding": "tagless", "body": {"item": 5}}),
    (SUM, "> 49 1 04000a00", {"encoding": "tagged", "body": {"item": 5}}),
    ([*SUM, "> 09 1 05000000"], "> 0a 1", {"kind": "END"}),
    (SUM, "> 0a 1 01 026e6f", {"kind": "END", "body": {"bad": {"why": "no"}}}),
    ([*SUM, "> 0a 1"], "< 06 1 01 0500000000000000", {"body": {"result": 5}}),
    (SUM, "> 4a 1 30 2c026e6f 00 00", {"kind": "END", "encoding": "tagged", "body": {"bad": {"why": "no"}}}),
    ([*SUM, "> 2a 1 01 02"], "> 0a 1 6e6f", {"kind": "END", "frames": 2, "body": {"bad": {"why": "no"}}}),
    (SUM, "> 49 1 00", {"kind": "ITEM", "body": {}}),  # tagged, an item that has its default
    ([*SUM, "> 29 1 0500", "< 0b 1 01", "> 29 1 00"], "> 09 1 00", {"frames": 3, "body": {"item": 5}}),
    (SUM, "> c9 1 02 01 04 aabb", {"compression": {"method": "zstd", "size": 4}, "body_hex": "aabb"}),
    (COUNT, "< 06 1 00", {"kind": "REPLY", "body": {}}),
    (OPENED, "< 09 1 05000000", {"body": {"item": 5}}),
    ([*OPENED, "< 09 1 05000000"], "< 0a 1 01 026e6f", {"kind": "END", "body": {"bad": {"why": "no"}}}),
    (OPENED, "< 07 1 04 02 00", {"kind": "STATUS", "code": "DEADLINE_EXCEEDED"}),
    (REFUSED, "< 0a 1", {"kind": "END", "id": 1}),
    ([*TALK, "> 09 1 0161", "< 06 1 00", "> 09 1 0162"], "< 09 1 0141", {"body": {"item": "A"}}),
    ([*TALKS, "> 0a 1"], "< 09 1 0141", {"body": {"item": "A"}}),
    # of calls that are over, or were cancelled
    ([*COUNTS, "< 09 1 05000000", "< 0a 1"], "< 0a 1", {"ignored": True}),
    ([*SUM, "< 06 1 01 0500000000000000"], "> 09 1 05000000", {"ignored": True}),
    ([*TALKS, "< 0a 1"], "> 09 1 0161", {"ignored": True}),
    ([*TALKS, "< 0a 1"], "> 0a 1", {"ignored": True}),
    ([*TALKS, "< 07 1 0d 02 00"], "> 09 1 0161", {"ignored": True}),
    ([*TALKS, "> 08 1"], "> 09 1 0161", {"ignored": True}),
    ([*TALKS, "> 08 1"], "< 09 1 0141", {"ignored": True, "body": {"item": "A"}}),
    ([*TALK, "> 08 1", "< 06 1 00"], "< 0a 1", {"ignored": True}),
    ([*TALKS, "> 29 1 02", "> 08 1"], "< 07 1 01 02 00", {"code": "CANCELLED"}),
    ([*TALKS, "< 29 1 02", "< 07 1 0d 02 00"], "< 0b 1 01", {"kind": "CREDIT", "ignored": True}),
    ([*TALKS, "> 29 1 02", "< 0a 1"], "> 09 1 0161", {"kind": "ITEM", "frames": 2}),
    (TALKED, "> 05 1 00 00", {"kind": "CALL", "id": 1}),
    ([*TALKED, "> c9 1 08 01 01 0161 0178 0161"], "> c5 3 00 08 01 02 00", {"headers": [
        {"name": "a", "value": "78", "number": 0}]}),
    # credit
    (SUM, "< 0b 1 8001", {"kind": "CREDIT", "id": 1, "bytes": 128}),
    (SUM, "< 0b 0 01", {"kind": "CREDIT", "id": 0, "bytes": 1}),
    (SUM, "< 0b 1 ffffffffffffffffff01", {"bytes": (1 << 64) - 1}),
    ([*SUM, "> 0a 1"], "< 0b 1 01", {"kind": "CREDIT", "bytes": 1}),
    ([*SMALL, "< 09 1 05000000"], "< 09 1 06000000", {"body": {"item": 6}}),  # takes it below zero
    (SMALL, "< 49 1 0400 feffffff0f 00", {"body": {"item": (1 << 31) - 1}}),
    ([*FULL, "> 0b 1 03"], "< 09 1 07000000", {"body": {"item": 7}}),
    ([*TIGHT, "> 0b 0 03"], "< 09 1 07000000", {"body": {"item": 7}}),
    ([*FULL, "> 05 3 00 00", "< 06 3 00"], "< 09 3 05000000", {"id": 3, "body": {"item": 5}}),
    ([*SLOW[:-1], "> 45 1 00 00", "> 49 1 04000a00"], "> 49 1 04000a00", {"body": {"item": 5}}),  # the default window
]  # fmt: skip

# The frames so far, the one that breaks a rule, and the rule.
BAD = [
    ([], "> 0c 0 0102030405060708", "wire.md#opening"),
    ([], "< 01 0 01", "wire.md#opening"),
    ([], "> 01 0 02", "wire.md#opening"),
    ([], "> 01 0 01 01ff7f", "wire.md#opening"),
    ([], "> 01 0 01 0641", "wire.md#opening"),
    (HELLOS, "> 01 0 01", "wire.md#opening"),
    (HELLOS, "> 11 0", "wire.md#frames"),
    (HELLOS, "> 2c 0 0102030405060708", "wire.md#frames"),
    (HELLOS, "> 0c 1 0102030405060708", "wire.md#frames"),
    (HELLOS, "> 0c 0 010203040506070809", "encoding.md#limits"),
    (HELLOS, "> 0c 0 01", "encoding.md#limits"),
    (HELLOS, "> 0d 0 0102030405060708", "wire.md#the-connection"),
    ([*HELLOS, "> 10 0 01 00"], "> 0c 0 0102030405060708", "wire.md#the-connection"),
    (HELLOS, "> 0e 0 02 00", "wire.md#the-connection"),
    (CALLED[:-1] + ["< 0e 0 00 00", "> 05 1 00 02000000"], "< 06 1 01 05000000", "wire.md#the-connection"),
    ([*SUM, "< 0e 0 00 00"], "< 0b 1 01", "wire.md#the-connection"),
    (HELLOS, "> 10 0 11 00", "wire.md#errors"),
    (HELLOS, bind(1, "add", 0), "wire.md#methods"),
    (HELLOS, bind(0, "add", 1), "wire.md#methods"),
    (HELLOS, "< 03 0 00 00", "wire.md#methods"),
    (OTHER, "> 05 1 00 00", "wire.md#methods"),
    ([*OTHER, "< 03 0 01 00"], "> 05 1 00 00", "wire.md#methods"),
    ([*OTHER, "< 03 0 01 00"], "< 03 0 00 00", "wire.md#methods"),
    ([*OTHER, "< 03 0 04 00"], "> 04 0 00", "encoding.md#descriptions-and-fingerprints"),
    ([*OTHER, "> 45 1 00 00", "< 03 0 02 00"], "< 46 1 00", "wire.md#methods"),
    (ADD_BOUND, "> 05 1 01 02000000", "wire.md#methods"),
    (ADD_BOUND, "> 05 2 00 02000000", "wire.md#calls"),
    (ADD_BOUND, "> 05 0 00 02000000", "wire.md#calls"),
    (CALLED, "> 05 1 00 02000000", "wire.md#calls"),
    (CALLED, "> 07 1 01 01 00", "wire.md#calls"),
    (CALLED, "< 08 1", "wire.md#calls"),
    (CALLED, "< 07 1 11 01 00", "wire.md#calls"),
    (CALLED, "< 06 3 01 05000000", "wire.md#calls"),
    (LOG, "< 07 1 01 01 00", "wire.md#calls"),
    (CALLED, "< 09 1 05000000", "wire.md#streams"),
    (HELLOS, bind(0, "count", 8), "wire.md#methods"),
    (HELLOS, bind(0, "count", 5), "wire.md#methods"),
    (HELLOS, bind(0, "count", 2), "wire.md#methods"),
    ([*HELLOS, bind(0, "sum", 2), "> 45 1 00 00"], "> 09 1 05000000", "wire.md#methods"),
    (CALLED, "> 09 1 05000000", "wire.md#streams"),
    (CALLED, "< 0a 1", "wire.md#streams"),
    (COUNT, "> 09 1 05000000", "wire.md#streams"),
    (SUM, "< 09 1 05000000", "wire.md#streams"),
    ([*SUM, "> 0a 1"], "> 09 1 05000000", "wire.md#streams"),
    ([*SUM, "> 0a 1"], "> 0a 1", "wire.md#streams"),
    (SUM, "> 09 3 05000000", "wire.md#calls"),
    (OPEN, "< 09 1 05000000", "wire.md#streams"),
    (COUNT, "< 09 1 05000000", "wire.md#streams"),
    (COUNT, "< 0a 1", "wire.md#streams"),
    (COUNTS, "< 06 1 00", "wire.md#calls"),
    ([*TALK, "> 08 1"], "< 0a 1", "wire.md#streams"),
    (REFUSED, "< 09 1 05000000", "wire.md#streams"),
    (REFUSED, "< 0a 1 01 026e6f", "wire.md#streams"),
    (SUM, "> 8a 1 08 00", "wire.md#frames"),
    (SUM, "> 2b 1 01", "wire.md#frames"),
    (SUM, "> c9 1 01 05 04000a00", "wire.md#frames"),
    (SUM, "> 0b 1 01", "wire.md#streams"),
    (COUNT, "< 0b 1 01", "wire.md#streams"),
    (CALLED, "< 0b 1 01", "wire.md#streams"),
    (SUM, "< 0b 3 01", "wire.md#calls"),
    (SUM, "< 0b 1 01 00", "encoding.md#limits"),
    (SUM, "< 0b 1 80", "encoding.md#limits"),
    (FULL, "< 09 1 07000000", "wire.md#streams"),
    (TIGHT, "< 09 1 07000000", "wire.md#streams"),
    ([*FULL, "> 0b 1 02"], "< 09 1 07000000", "wire.md#streams"),  # no credit is left, and none is owed
    ([*FULL, "> 0b 0 03"], "< 09 1 07000000", "wire.md#streams"),
    ([*TIGHT, "> 0b 1 03"], "< 09 1 07000000", "wire.md#streams"),
    ([*TIGHT, "> 05 3 00 00", "< 06 3 00"], "< 09 3 07000000", "wire.md#streams"),
    ([*SLOW, "> 09 1 05000000"], "> 09 1 05000000", "wire.md#streams"),  # BOUND came behind HELLO
    ([*SUM, "> 29 1 05"], "> c9 1 00", "wire.md#frames"),
    ([HELLOS[0], bind(0, "log", 1)], "> c5 1 00 08 01 01 0161 0178 00", "wire.md#headers"),
    ([*SUM, "> 29 1 05"], "> 0a 1", "wire.md#frames"),
    (ADD_BOUND, "> c5 1 00 40", "wire.md#frames"),
    (ADD_BOUND, "> c5 1 00 08 01 02", "wire.md#headers"),
    (CALLED, "< 86 1 01 05", "wire.md#frames"),
    (CALLED, "< 86 1 02 01 05 aa", "wire.md#opening"),
    (ADD_BOUND, "> c5 1 00 04 03 00", "wire.md#objects"),
    (CALLED, "> c5 3 00 04 03 00", "wire.md#objects"),  # it has promised nothing
    (FORGOTTEN, "> 85 3 00 04 03 00", "wire.md#objects"),
    (FORGOTTEN, "> 85 3 00 20 01 01 00", "wire.md#objects"),
    (PROMISED, "> 85 3 00 20 00 00", "wire.md#frames"),
    (PROMISED, "> 85 3 00 20 02 01 01 00", "wire.md#objects"),
    (PROMISED, "> 05 3 00 01 8380808020", "wire.md#objects"),
    (PROMISED, "< 06 1 01 8380808020", "wire.md#objects"),
    (ADD_BOUND, "> c5 1 00 20 01 01 00", "wire.md#objects"),
    ([*HELLOS, bind(0, "log", 1)], "> c5 1 00 10 00", "wire.md#objects"),
    (HELLOS, "> 0f 7 8101", "wire.md#objects"),
    (GIVEN, "> 0f 7 02", "wire.md#objects"),
    (GIVEN, "> 0f 7 00", "wire.md#objects"),
    ([*GIVEN, "> 0f 7 01"], "> 0f 7 01", "wire.md#objects"),
    ([*FILE, "< 07 1 05 01 00"], "< 0f 3 01", "wire.md#objects"),  # it was not started
    (FILE, "< 06 1 01 05", "wire.md#objects"),
    ([*HELLOS, bind(0, "files", 4), "< 03 0 00 00", "> 05 1 00 00", "< 06 1 00"], "< 09 1 02", "wire.md#objects"),
    # of one message only
    (ADD_BOUND, "> 05 1 00 020000", "encoding.md#limits"),
    (ADD_BOUND, "> 05 1 00 0200000000", "encoding.md#limits"),
    (CALLED, "< 06 1 03 00", "encoding.md#tagless"),
    (CALLED, "< 46 1 0500 0a 00", "encoding.md#tagged"),
    (CALLED, "< 06 1 00", "wire.md#errors"),
    (["> 01 0 01 0204", *CALLED[1:]], "< 06 1 01 05000000", "wire.md#errors"),
    (SUM, "> 09 1 0500", "encoding.md#limits"),
    (SUM, "> 09 1 0500000000", "encoding.md#limits"),
    (SUM, "> 49 1 0c000135 00", "encoding.md#tagged"),
    (SUM, "> 49 1 05000a00", "encoding.md#tagged"),
    (OPENED, "< 49 1 04000a", "encoding.md#limits"),
    (SUM, "> 0a 1 00", "wire.md#errors"),
    (SUM, "> 4a 1 00", "wire.md#errors"),
    (SUM, "> 0a 1 02 026e6f", "encoding.md#tagless"),
    (TALKS, "> 89 1 02 02 0c 20 0a61 0100 50 6161616161", "wire.md#compression"),
    (TALKS, "> 89 1 02 02 05 20 0a61 0100 50 6161616161", "wire.md#compression"),
    (TALKS, "> 89 1 02 02 0b 20 0a61 0300 50 6161616161", "wire.md#compression"),
    (TALKS, "< 0a 1 01 00", "encoding.md#tagless"),
]


def line(frame: str) -> str:
    """Turns "> head id payload", with the id in decimal, into a line of a capture."""
    sender, head, id, *payload = frame.split()
    body = "".join(payload)
    start = (len(body) // 2).to_bytes(3, "little") + bytes.fromhex(head) + int(id).to_bytes(4, "little")
    opening = "d7445654" if head == "01" else ""
    return sender + opening + start.hex() + body


def run(frames: list[str], contract: str = CONTRACT) -> list[Json]:
    return list(decoder.decode(map(line, frames), contract))


class Conversations(unittest.TestCase):
    def test_each_kind(self) -> None:
        for before, last, want in GOOD:
            with self.subTest(last=last, want=want):
                messages = run([*before, last])
                self.assertEqual([message for message in messages if "error" in message], [])
                self.assertEqual({key: messages[-1].get(key) for key in want}, want)

    def test_each_rule(self) -> None:
        for before, last, rule in BAD:
            with self.subTest(last=last, rule=rule):
                *good, bad = run([*before, last])
                self.assertEqual([message for message in good if "error" in message], [])
                self.assertEqual(bad["error"]["rule"], rule)

    def test_borders_of_chunks_mean_nothing(self) -> None:
        frames = [line(frame) for frame in CALLED]
        bytes_alone = [part[0] + part[i : i + 2] for part in frames for i in range(1, len(part), 2)]
        self.assertEqual(list(decoder.decode(bytes_alone, CONTRACT)), run(CALLED))

    def test_an_unfinished_frame(self) -> None:
        (message,) = decoder.decode(["> d744 5654 0100"])
        self.assertEqual(message["error"]["rule"], "wire.md#frames")

    def test_an_unfinished_message(self) -> None:
        self.assertEqual(run([*ADD_BOUND, "> 25 1 00 02"])[-1]["error"]["rule"], "wire.md#frames")

    def test_a_frame_that_is_too_large(self) -> None:
        *_, message = decoder.decode([*map(line, HELLOS), "> 010001 0c 00000000"])  # the payload need not be there
        self.assertEqual(message["error"]["rule"], "wire.md#opening")

    def test_another_protocol(self) -> None:
        (message,) = decoder.decode(["> 16"])
        self.assertEqual(message["error"]["rule"], "wire.md#opening")

    def test_without_a_contract(self) -> None:
        self.assertEqual(run([*CALLED[:2], bind(0, "add", 0), "> 45 1 00 240400"], "")[-1]["body"], {"1": 2})
        self.assertIn("note", run(CALLED, "")[-1])

    def test_the_table_of_headers_starts_again(self) -> None:
        keep = "> c5 {} 00 08 01 01 01{:02x} 00 00"
        messages = run([*ADD_BOUND, *(keep.format(2 * i + 1, i + 0x30) for i in range(66))])
        self.assertEqual([message["headers"][0]["number"] for message in messages[-66:]], [*range(64), 0, 1])

    def test_the_example_of_the_help(self) -> None:
        messages = decoder.decode(decoder.CAPTURE.splitlines(), decoder.CONTRACT)
        shown = [json.dumps(message) for message in messages]
        for want in decoder.OUTPUT.replace("\n ", " ").splitlines():
            self.assertIn(want, shown)


if __name__ == "__main__":
    unittest.main()
