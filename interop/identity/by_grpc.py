"""grpcio, without generated code: messages are bytes."""

import grpc
from rows import SERVICE, later, run

# Order: `lamp`, 1.
PLACE = b"\x0a\x04lamp\x10\x01"
BROKEN = b"\x0a\xff"
FIND = b"\x08\x01"


def call(_, port, token, method):
    name = "place" if method == "broken" else method
    request = {"place": PLACE, "broken": BROKEN, "all": b"", "find": FIND}[method]
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


run(call)
