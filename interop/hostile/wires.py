"""Bytes of each wire, made without any library of ours: docs/spec, RFC 9113, RFC 7541, RFC 8878."""

import struct


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def zstd_of(byte, size):
    """A zstd frame of this byte, again and again: blocks that say one byte for 128 KiB."""
    block = 128 << 10
    out = b"\x28\xb5\x2f\xfd\x00\x58"  # Magic number, no flags, a window of 2 MiB.
    while True:
        now = min(size, block)
        size -= now
        out += struct.pack("<I", (size == 0) | 1 << 1 | now << 3)[:3] + bytes([byte])
        if not size:
            return out


class own:
    """Dovetail's own wire: docs/spec/wire.md, and tagged values: docs/spec/encoding.md."""

    HELLO, BIND, CALL, PING = 1, 2, 5, 12
    TAGGED, EXTRAS = 0x40, 0x80
    SINK = 2

    @staticmethod
    def frame(kind, number, payload):
        return struct.pack("<I", len(payload))[:3] + bytes([kind]) + struct.pack("<I", number) + payload

    @classmethod
    def greeting(cls, **settings):
        """The first bytes of a client; `_3=…` is the setting with key 3."""
        pairs = b"".join(varint(int(key[1:])) + varint(value) for key, value in settings.items())
        return b"\xd7DVT" + cls.frame(cls.HELLO, 0, b"\x01" + pairs)

    @classmethod
    def bind(cls, method, flags=0, service=b"Target", slot=0):
        text = varint(len(service)) + service + varint(len(method)) + method
        return cls.frame(cls.BIND, slot, bytes([flags]) + text + bytes(16))

    @classmethod
    def call(cls, number, params=b"\0", extras=b"", slot=0):
        kind = cls.CALL | cls.TAGGED | (cls.EXTRAS if extras else 0)
        return cls.frame(kind, number, varint(slot) + extras + params)

    @classmethod
    def zstd_call(cls, number, head, byte, size, tail=b""):
        """A call whose parameters are compressed: `head` and `tail` stand in blocks as they are."""
        raw = lambda data, last: struct.pack("<I", last | len(data) << 3)[:3] + data
        frame = zstd_of(byte, size)
        blocks = frame[6:]
        # The last repeated block is no longer the last one.
        if tail:
            blocks = blocks[:-4] + bytes([blocks[-4] & 0xFE]) + blocks[-3:] + raw(tail, 1)
        body = frame[:6] + raw(head, 0) + blocks
        return cls.call(number, body, b"\x02\x01" + varint(len(head) + size + len(tail)))


class thrift:
    """Thrift's binary protocol, unframed."""

    @staticmethod
    def call(method, params=b"\0"):
        return b"\x80\x01\x00\x01" + struct.pack(">I", len(method)) + method + bytes(4) + params


class http:
    @staticmethod
    def post(path, body=b"{}", *headers, length=True):
        lines = [f"POST {path} HTTP/1.1", *headers]
        if not any(line.lower().startswith("host:") for line in headers):
            lines.append("Host: localhost")
        if not any(line.lower().startswith("content-type:") for line in headers):
            lines.append("Content-Type: application/json")
        if length:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body


class http2:
    """Frames of HTTP/2, heads without Huffman's code and without the table."""

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    DATA, HEADERS, SETTINGS, CONTINUATION = 0, 1, 4, 9
    END_STREAM, END_HEADERS = 1, 4

    @staticmethod
    def frame(kind, flags, stream, payload=b""):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    @staticmethod
    def field(name, value):
        assert len(name) < 127 and len(value) < 127
        return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value

    @classmethod
    def greeting(cls, window=65535):
        return cls.PREFACE + cls.frame(cls.SETTINGS, 0, 0, struct.pack(">HI", 4, window))

    @classmethod
    def call(cls, stream, path, message):
        """A call of gRPC."""
        fields = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"localhost"),
                  (b"te", b"trailers"), (b"content-type", b"application/grpc")]
        head = b"".join(cls.field(*field) for field in fields)
        body = b"\0" + struct.pack(">I", len(message)) + message
        return (cls.frame(cls.HEADERS, cls.END_HEADERS, stream, head)
                + cls.frame(cls.DATA, cls.END_STREAM, stream, body))


class msgpack:
    @staticmethod
    def request(number, method, params=b"\x90"):
        return b"\x94\0" + bytes([number]) + bytes([0xA0 | len(method)]) + method + params
