"""Bodies before compression, read as docs/spec/wire.md says."""

from encoding import Broken, Reader, need

RULE = "wire.md#compression"


def lz4(data: bytes, most: int) -> bytes:
    """One block: literals, then a copy of what came before; the last sequence has only literals."""
    reader, out = Reader(data), bytearray()
    while True:
        token = reader.byte()
        out += reader.take(length(reader, token >> 4))
        if not reader.left():
            break
        offset = int.from_bytes(reader.take(2), "little")
        need(0 < offset <= len(out), RULE, f"a copy from {offset} bytes before")
        copied = length(reader, token & 15) + 4
        need(len(out) + copied <= most, RULE, f"more than {most} bytes")
        for _ in range(copied):
            out.append(out[-offset])
    return bytes(out)


def length(reader: Reader, start: int) -> int:
    more = 255 if start == 15 else 0
    while more == 255:
        more = reader.byte()
        start += more
    return start


def zstd(data: bytes, most: int) -> bytes | None:
    try:
        import zstandard
    except ImportError:
        return None
    try:
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=most, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise Broken(RULE, str(error))


def decompress(method: str, size: int, data: bytes) -> bytes | None:
    """Nothing where this Python cannot."""
    body = lz4(data, size) if method == "lz4" else zstd(data, size)
    need(body is None or len(body) == size, RULE, f"{len(body or b'')} bytes where {size} were announced")
    return body
