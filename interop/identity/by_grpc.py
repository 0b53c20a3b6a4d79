"""grpcio, without generated code: messages are bytes."""

import grpc
from rows import LARGE, SERVICE, handle_in, later, run

# Order: `lamp`, 1.
PLACE = b"\x0a\x04lamp\x10\x01"
BROKEN = b"\x0a\xff"
FIND = b"\x08\x01"


def call(_, port, token, method):
    name = "place" if method in ("broken", "large") else method
    request = {"place": PLACE, "broken": BROKEN, "large": LARGE, "all": b"", "find": FIND}[method]
    metadata = [("authorization", "Bearer " + token)] if token else []
    with grpc.insecure_channel("127.0.0.1:%d" % port) as channel:
        made = channel.unary_unary("/%s/%s" % (SERVICE, name))
        try:
            answer, ended = made.with_call(request, metadata=metadata, timeout=20)
        except grpc.RpcError as error:
            pushback = dict(error.trailing_metadata() or ()).get("grpc-retry-pushback-ms")
            return later(error.code().name.lower(), pushback)
        # What an interceptor of the server has added.
        if "request-number" not in dict(ended.initial_metadata()):
            return "no header of the interceptor"
        return "ada" if b"ada" in answer else "ok"


class Caller:
    """A caller of the cart."""

    def __init__(self, _, port, token):
        self.channel = grpc.insecure_channel("127.0.0.1:%d" % port)
        self.metadata = [("authorization", "Bearer " + token)]

    def call(self, path, request):
        try:
            return self.channel.unary_unary(path)(request, metadata=self.metadata, timeout=20).decode("latin-1")
        except grpc.RpcError as error:
            return error.code().name.lower()

    def begin(self):
        return handle_in(self.call("/dovetail.Sessions/begin_session", text("Cart")))

    def resume(self, handle):
        self.metadata = [*self.metadata, ("dovetail-session", handle)]

    def add(self, item):
        return self.call("/shop.Cart/add", text(item) + b"\x10\x01")

    def close(self):
        self.channel.close()


def text(value):
    """A message with a text in field 1."""
    return b"\x0a" + bytes([len(value)]) + value.encode()


run(call, Caller)
