"""The attacks: bytes of a client without any login, and the bounds that the server keeps."""

import gzip
import struct
import time
from dataclasses import dataclass
from typing import Callable

from target import Peer
from wires import http, http2, msgpack, own, thrift, varint

ALL = ("loops", "threads", "pool", "single")
# The models with HTTP/2.
LOOPS = ("loops", "pool", "single")

ATTACKS = []


@dataclass(frozen=True)
class Attack:
    """A row of the table in docs/security.md."""

    title: str
    wire: str
    run: Callable
    # MB that the server's resident memory may grow by, at its peak.
    memory: float
    # Seconds of CPU.
    cpu: float
    # Seconds that a polite caller may wait for one answer meanwhile.
    delay: float
    models: tuple = ALL
    limits: tuple = ()


def attack(title, wire, memory=16, cpu=0.5, delay=0.5, **more):
    def keep(run):
        ATTACKS.append(Attack(title, wire, run, memory, cpu, delay, **more))
        return run
    return keep


def expect(found, wanted, what="the answer"):
    assert wanted in found, f"{what} is {found[:300]!r}, without {wanted!r}"


def ended(peer, seconds=3.0):
    """The rest of what the server says before it ends the connection."""
    said = peer.read(seconds=seconds)
    assert peer.over, f"the connection is still open after {seconds} s; it said {said[:200]!r}"
    return said


def until(holds, what, seconds=3.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def callers_go(target, request, leave):
    """Starts 20 calls whose handlers wait, and expects each descriptor to be closed once its caller leaves."""
    before = target.descriptors()
    peers = [target.connect() for _ in range(20)]
    for peer in peers:
        peer.send(request)
    until(lambda: target.descriptors() >= before + 20, "all are accepted")
    time.sleep(0.1)
    for peer in peers:
        leave(peer)
    until(lambda: target.descriptors() <= before, "their descriptors are closed")


# ----- Dovetail's own wire

def breaks_ids(target, *calls, says):
    for _ in range(50):
        peer = target.connect()
        peer.send(own.greeting(), own.bind(b"ignore", own.SINK), *(own.call(number) for number in calls))
        expect(ended(peer), says)


@attack("50 connections, each with two calls of one id", "own")
def taken_ids(target):
    breaks_ids(target, 1, 1, says=b"another one has")


@attack("50 connections with ids of the other end", "own")
def even_ids(target):
    breaks_ids(target, 1, 2, says=b"not one of its caller's")


@attack("50 connections with the id 0", "own")
def zero_ids(target):
    breaks_ids(target, 0, says=b"not one of its caller's")


@attack("50 connections with ids that fall", "own")
def falling_ids(target):
    breaks_ids(target, 3, 1, says=b"ids of calls rise")


@attack("a promise that waits for itself", "own")
def promise_on_itself(target):
    peer = target.connect()
    peer.send(own.greeting(), own.bind(b"fork", service=b"Counter"), own.call(1, extras=b"\x14" + varint(3)))
    expect(peer.read(lambda data: b"\x07\x01\0\0\0\x09" in data, 3), b"\x07\x01\0\0\0\x09")


@attack("frames of kinds that are not there", "own")
def unknown_frames(target):
    for kind in (0, 17, 31):
        peer = target.connect()
        peer.send(own.greeting(), own.frame(kind, 1, b""))
        expect(ended(peer), b"kind")


@attack("20,000 pings whose answers nobody reads", "own", memory=24, cpu=1.5)
def pings(target):
    peer = target.connect()
    peer.sock.settimeout(1)
    peer.send(own.greeting(), own.frame(own.PING, 0, bytes(8)) * 20_000)


@attack("2 KB of zstd that are 60 MB", "own", memory=160)
def zstd_zeros(target):
    size = 60 * 1000 * 1000
    peer = target.connect()
    peer.send(own.greeting(), own.bind(b"size"), own.zstd_call(1, b"\x2d" + varint(size), 0, size, b"\0"))
    # REPLY to call 1, or STATUS.
    peer.read(lambda data: b"\x46\x01\0\0\0" in data or b"\x07\x01\0\0\0" in data, 3)
    assert not peer.over, "the connection ended"


def entries(count):
    """Parameters of `entries`: so many structs without a field, of one byte each."""
    return b"\x31" + varint(count) + b"\x10", count + 1


@attack("60 calls of few bytes of zstd, with a million structs each", "own", memory=96, cpu=3, limits=("memory=256",))
def zstd_lists(target):
    head, zeros = entries(1_000_000)
    peer = target.connect()
    peer.send(own.greeting(), own.bind(b"entries"),
              *(own.zstd_call(2 * number + 1, head, 0, zeros) for number in range(60)))
    peer.read(seconds=1.5)


@attack("7 KB of zstd that are 64 MB", "own", memory=24, cpu=0.5)
def zstd_ratio(target):
    size = 64 * 1000 * 1000
    peer = target.connect()
    peer.send(own.greeting(), own.bind(b"size"), own.zstd_call(1, b"\x2d" + varint(size), 0, size, b"\0"))
    # STATUS of call 1.
    expect(peer.read(lambda data: b"\x07\x01\0\0\0" in data, 3), b"\x07\x01\0\0\0")


# ----- Thrift

@attack("600,000 maps of one entry", "thrift", memory=200, cpu=2, delay=1)
def small_maps(target):
    entry = b"\x0d\0\x01\x0b\x0a\0\0\0\x01\0\0\0\0" + bytes(8) + b"\0"
    count = 600_000
    peer = target.connect()
    peer.send(thrift.call(b"entries", b"\x0f\0\x01\x0c" + struct.pack(">I", count) + entry * count + b"\0"))
    expect(peer.read(lambda data: b"entries" in data, 5), b"entries")


@attack("a name of two gigabytes", "thrift")
def long_name(target):
    peer = target.connect()
    peer.send(b"\x80\x01\0\x01\x7f\xff\xff\xffaaaa")
    expect(ended(peer), b"the limit is 1024")


@attack("a list of 2³¹ structs", "thrift")
def long_list(target):
    peer = target.connect()
    peer.send(thrift.call(b"entries", b"\x0f\0\x01\x0c\x7f\xff\xff\xff"))
    expect(peer.read(lambda data: b"limit" in data, 3), b"limit")


@attack("structs nested 100,000 deep", "thrift")
def deep_structs(target):
    peer = target.connect()
    peer.send(thrift.call(b"chain", b"\x0c\0\x01" * 100_000))
    expect(ended(peer), b"deep")


@attack("20 callers that reset while their handlers wait", "thrift")
def reset_callers(target):
    callers_go(target, thrift.call(b"wait"), Peer.reset)


# ----- HTTP/1.1

@attack("20 callers that close while their handlers wait", "http")
def closed_callers(target):
    callers_go(target, http.post("/Target/wait"), Peer.close)


@attack("heads with two meanings", "http")
def ambiguous_heads(target):
    head = lambda *lines: "\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode() + b"{}"
    rows = [
        head("POST /Target/ping HTTP/1.1", "Content-Length: 2"),
        head("POST /Target/ping HTTP/1.1", "Host:", "Content-Length: 2"),
        head("POST /Target/ping HTTP/1.1", "Host: localhost", "Host: evil.example", "Content-Length: 2"),
        head("POST /Target/ping HTTP/1.1", "Host: localhost", "Content-Length: 2", "Content-Length: 3"),
        head("POST /Target/ping HTTP/1.1", "Host: localhost", "Content-Length: 2", "Transfer-Encoding: chunked"),
        head("POST /Target/ping HTTP/1.0", "Host: localhost", "Transfer-Encoding: chunked"),
        head("POST /Target/ping HTTP/1.1", "Host: localhost", "Origin: http://localhost", "Origin: http://a", "Content-Length: 2"),
        b"POST /Target/ping HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 2\n\n{}",
    ]
    for row in rows:
        peer = target.connect()
        peer.send(row)
        expect(peer.read(lambda data: b"\r\n\r\n" in data, 3), b"HTTP/1.1 400", f"the answer to {row!r}")


@attack("calls of a foreign page", "http")
def foreign_page(target):
    for more in (["Origin: http://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"],
                 ["Sec-Fetch-Site: same-site"]):
        peer = target.connect()
        peer.send(http.post("/Target/ping", b"{}", *more))
        expect(peer.read(lambda data: b"\r\n\r\n" in data, 3), b"HTTP/1.1 403", str(more))
    peer = target.connect()
    peer.send(http.post("/", b'[1,"ping",1,7,{}]', "Content-Type: text/plain"))
    expect(peer.read(lambda data: b"\r\n\r\n" in data, 3), b"HTTP/1.1 415")


@attack("19 KB of gzip that are 1.2 million objects", "http", memory=200, cpu=2, delay=1)
def gzip_objects(target):
    body = gzip.compress(b'{"value":[' + b'{"a":1},' * 1_200_000 + b"0]}", 9)
    peer = target.connect()
    peer.send(http.post("/Target/value", body, "Content-Encoding: gzip"))
    expect(peer.read(lambda data: b"\r\n\r\n" in data, 5), b"HTTP/1.1 4")


@attack("a body in chunks of one byte, for ever", "http", limits=("transfer=700", "rate_grace=300"))
def slow_chunks(target):
    peer = target.connect()
    peer.send(http.post("/Target/ping", b"", "Transfer-Encoding: chunked", length=False))
    drips(peer, b"1\r\n \r\n")


# ----- WebSocket

@attack("a message in fragments of one byte, for ever", "websocket", limits=("transfer=700", "rate_grace=300"))
def slow_fragments(target):
    peer = target.connect()
    peer.send(b"GET /Target/ping HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
              b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
              b"\r\n")
    expect(peer.read(lambda data: b"\r\n\r\n" in data, 3), b"101")
    peer.send(b"\x01\x81\0\0\0\0{")
    drips(peer, b"\0\x81\0\0\0\0 ")


def drips(peer, drop):
    """One drop every 50 ms, until the server has enough of it."""
    end = time.monotonic() + 3
    while peer.send(drop) and not peer.over:
        assert time.monotonic() < end, "the server still takes it after 3 s"
        peer.read(seconds=0.05)


# ----- HTTP/2

@attack("HEADERS that do not end", "http/2", models=LOOPS, limits=("transfer=700", "rate_grace=300"))
def endless_headers(target):
    peer = target.connect()
    peer.send(http2.greeting(), http2.frame(http2.SETTINGS, 1, 0),
              http2.frame(http2.HEADERS, 0, 1, http2.field(b":method", b"POST")))
    drips(peer, http2.frame(http2.CONTINUATION, 0, 1, http2.field(b"a", b"b")))


@attack("5,000 calls that are reset at once", "http/2", models=LOOPS, cpu=1.5)
def rapid_reset(target):
    peer = target.connect()
    peer.sock.settimeout(2)
    reset = lambda stream: http2.frame(3, 0, stream, struct.pack(">I", 8))
    calls = (http2.call(2 * number + 1, b"/Target/wait", b"") + reset(2 * number + 1) for number in range(5000))
    peer.send(http2.greeting(), http2.frame(http2.SETTINGS, 1, 0), *calls)
    ended(peer, 4)


# ----- msgpack-rpc

@attack("20 callers that reset while their handlers wait", "msgpack-rpc")
def reset_msgpack(target):
    callers_go(target, msgpack.request(1, b"wait"), Peer.reset)


@attack("arrays nested a million deep", "msgpack-rpc")
def deep_arrays(target):
    peer = target.connect()
    peer.send(msgpack.request(1, b"value", b"\x91" * 1_000_000))
    expect(ended(peer), b"deep")


# ----- connections

@attack("200 connections that say nothing", "tcp", limits=("handshake=500", "idle=60000"))
def silent(target):
    before = target.descriptors()
    for _ in range(200):
        target.connect()
    until(lambda: target.descriptors() >= before + 150, "they are accepted")
    until(lambda: target.descriptors() <= before, "they are closed")


def outnumber(target, request, answer):
    """Opens more idle connections than the server has descriptors: each new one gets its answer."""
    for _ in range(60):
        peer = target.connect()
        peer.send(*request)
        expect(peer.read(lambda data: answer in data, 3), answer)


@attack("60 idle connections for 50 descriptors", "thrift", limits=("descriptors=50",))
def idle_thrift(target):
    outnumber(target, [thrift.call(b"ping")], b"ping")


# HEADERS of stream 1, with END_STREAM.
TRAILERS = b"\x01\x05\0\0\0\x01"


@attack("60 idle connections for 50 descriptors", "http/2", models=LOOPS, limits=("descriptors=50",))
def idle_http2(target):
    outnumber(target, [http2.greeting(), http2.call(1, b"/Target/ping", b"")], TRAILERS)


@attack("2,000 connections in four waves, each with half a message", "tcp", memory=24, cpu=1.5)
def waves(target):
    for _ in range(4):
        for _ in range(500):
            target.connect().send(b"\x80\x01\0\x01\0\0\0\x04")
        target.hang_up()
