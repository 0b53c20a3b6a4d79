"""What both ends of a conversation know so far, for the rules of docs/spec/wire.md."""

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Iterator

from contract import CALLEE_STREAM, CALLER_STREAM, ONEWAY, Method, describe, fingerprint
from encoding import Reader, need

OPENING, FRAMES, METHODS, CALLS, STREAMS, HEADERS, OBJECTS, CONNECTION, ERRORS = (
    f"wire.md#{part}"
    for part in "opening frames methods calls streams headers objects the-connection errors".split()
)
MAGIC = b"\xd7DVT"

Kind = IntEnum(
    "Kind",
    "HELLO BIND BOUND DESCRIBE CALL REPLY STATUS CANCEL ITEM END CREDIT PING PONG DRAIN RELEASE GOODBYE",
)
WITHOUT_ID = (Kind.HELLO, Kind.PING, Kind.PONG, Kind.DRAIN, Kind.GOODBYE)

MORE, TAGGED, EXTRAS = 0x20, 0x40, 0x80
FLAGS = dict.fromkeys((Kind.CALL, Kind.REPLY, Kind.ITEM), MORE | TAGGED | EXTRAS) | {Kind.END: MORE | TAGGED}
DEADLINE, COMPRESSION, TARGET, WITH_HEADERS, PROMISE, RESULTS = 1, 2, 4, 8, 16, 32
MOST_RESULTS = 64

# The settings of HELLO, numbered from 1, with their defaults.
SETTINGS = {
    "frame": 65_536,
    "message": 67_108_864,
    "stream_window": 262_144,
    "window": 4_194_304,
    "deadline_us": 0,
    "header_table": 64,
    "compression": 0,
    "meeting_low": 0,
    "meeting_high": 0,
    "ports": 0,
}
LEAST_FRAME, MOST_HEADERS, MOST_KEPT = 16_384, 64, 256

VERDICTS = ("equal", "compatible", "refused", "unknown", "describe")
EQUAL, COMPATIBLE, REFUSED, UNKNOWN, DESCRIBE = range(5)
CODES = (
    "CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED"
    " RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS"
    " UNAUTHENTICATED"
).split()
EXECUTIONS = ("not started", "may have run", "ran to its end")

Json = dict[str, Any]


@dataclass
class Slot:
    service: str
    name: str
    flags: int
    fingerprint: bytes
    method: Method | None
    verdict: int | None = None
    described: bool = False

    def is_ours(self) -> bool:
        """Whether the caller's contract is the one that the decoder was given."""
        return self.method is not None and fingerprint(describe(self.method)) == self.fingerprint


@dataclass(eq=False)
class Flow:
    """Bytes of items, on one stream or on all of a direction."""

    sent: int = 0
    granted: int = 0

    def left(self, window: int) -> int:
        return window + self.granted - self.sent


@dataclass
class Half:
    """One direction of a call; `stream` is the flag of the stream that it has, or 0."""

    stream: int
    ended: bool = False
    flow: Flow = field(default_factory=Flow)


@dataclass
class Call:
    id: int
    slot: Slot
    caller: "End"
    caller_half: Half
    callee_half: Half
    replied: bool = False
    failed: bool = False  # the REPLY was an exception
    cancelled: bool = False
    left_out: bool = False  # by DRAIN
    passed: list[int] = field(default_factory=list)  # objects of the caller, in its parameters

    def half(self, sender: "End") -> Half:
        return self.caller_half if sender is self.caller else self.callee_half

    def over(self) -> None:
        del self.caller.calls[self.id]


@dataclass
class Message:
    """What may come in several frames."""

    kind: Kind
    tagged: bool
    call: Call | None
    json: Json
    body: bytearray = field(default_factory=bytearray)
    size: int = 0  # of all payloads
    frames: int = 0


@dataclass(eq=False)
class End:
    """What the other end knows about the sender of frames."""

    name: str
    buffer: bytearray = field(default_factory=bytearray)
    opened: bool = False
    greeted: bool = False
    gone: bool = False
    informed: bool = False  # it has surely read the HELLO of the other end
    settings: dict[str, int] = field(default_factory=lambda: dict(SETTINGS))
    slots: list[Slot] = field(default_factory=list)
    calls: dict[int, Call] = field(default_factory=dict)
    last: int = 0  # of the ids of its calls; `highest` before they began again
    highest: int = 0
    one_way: set[int] = field(default_factory=set)
    unfinished: dict[int, Message] = field(default_factory=dict)
    flow: Flow = field(default_factory=Flow)
    headers: dict[int, Json] = field(default_factory=dict)
    next_header: int = 0
    pings: list[bytes] = field(default_factory=list)
    drained: int | None = None
    objects: Counter[int] = field(default_factory=Counter)  # references that it sent, by number
    unread: bool = False  # it has sent bodies that cannot be read, and perhaps objects in them
    promises: set[int] = field(default_factory=set)  # its calls that others may be addressed to

    def takes(self, setting: str, sender: "End") -> int:
        """What the defaults allow is no error of a sender that may not have read this end's HELLO yet."""
        value = self.settings[setting]
        return value if sender.informed else max(value, SETTINGS[setting])

    def frames(self, peer: "End") -> Iterator[tuple[int, int, bytes]]:
        if not self.opened:
            need(MAGIC.startswith(self.buffer[:4]), OPENING, f"begins with {self.buffer[:4].hex()}")
            self.opened = len(self.buffer) >= 4
            if self.opened:
                del self.buffer[:4]
        while self.opened and len(self.buffer) >= 8:
            size = int.from_bytes(self.buffer[:3], "little")
            most = peer.takes("frame", self)
            need(size <= most, OPENING, f"a frame of {size} bytes is more than the other end takes")
            if len(self.buffer) < 8 + size:
                break
            head, id, payload = self.buffer[3], int.from_bytes(self.buffer[4:8], "little"), self.buffer[8 : 8 + size]
            del self.buffer[: 8 + size]
            yield head, id, bytes(payload)

    def slot(self, number: int) -> Slot:
        need(number < len(self.slots), METHODS, f"slot {number} without BIND")
        return self.slots[number]

    def new_call(self, id: int, slot: Slot) -> Call:
        first = 1 if self.name == "client" else 2
        need(id and id % 2 == first % 2, CALLS, f"id {id} is not for calls of the {self.name}")
        need(id not in self.calls, CALLS, f"id {id} is in use")
        lowest_free = all(lower in self.calls for lower in range(first, min(id, self.last), 2))
        need(id > self.last or lowest_free, CALLS, f"id {id} after {self.last}, and not the lowest that is free")
        call = Call(id, slot, self, Half(slot.flags & CALLER_STREAM), Half(slot.flags & CALLEE_STREAM))
        self.last, self.highest = id, max(id, self.highest)
        if slot.flags & ONEWAY:
            self.one_way.add(id)
        else:
            self.one_way.discard(id)
            self.calls[id] = call
        return call

    def header(self, reader: Reader, entries: int) -> Json:
        how = reader.varint()
        if how >= 2:
            need(how - 2 in self.headers, HEADERS, f"no header has the number {how - 2}")
            return self.headers[how - 2]
        header = {"name": reader.text(), "value": reader.blob().hex()}
        return self.keep(header, entries) if how else header

    def keep(self, header: Json, entries: int) -> Json:
        size = len(header["name"].encode()) + len(header["value"]) // 2
        need(entries > 0, HEADERS, "a header is kept, and the other end keeps none")
        need(size <= MOST_KEPT, HEADERS, f"a header of {size} bytes is kept")
        number = self.next_header % entries
        self.headers[number] = header | {"number": number}
        self.next_header = number + 1
        return self.headers[number]
