"""What the server answers."""

import threading

import grpc
from calls_pb2 import BLUE, Blob, Number, Text, Value
from calls_pb2_grpc import CallsServicer
from google.protobuf.empty_pb2 import Empty
from google.rpc.status_pb2 import Status
from mapped_pb2 import (
    AddResponse, FailResponse, LengthsResponse, Missing, NothingResponse, Pair, PairsResponse,
    Refused, TurnResponse,
)
from mapped_pb2_grpc import MappedServicer

CODES = {code.value[0]: code for code in grpc.StatusCode}


def known():
    return Value(
        truth=True, number=-1, large=-1 << 63, unsigned=(1 << 64) - 1, zigzag=-5, fixed=7,
        single=0.5, real=-1234.5, text="Grüße, 世界 🚀", blob=b"\0\xff", colour=BLUE, may=0,
        numbers=[0, 1, -1], parts=[Value.Part(name="a"), Value.Part(count=2)],
        counts={"one": 1, "": 0}, part=Value.Part(name="last", count=-3))


def pattern(count):
    return bytes(number % 251 for number in range(count))


class Calls(CallsServicer):
    def __init__(self):
        self.gone = {}
        self.lock = threading.Lock()

    def Echo(self, request, context):
        return request

    def Known(self, request, context):
        return known()

    def Make(self, request, context):
        return Blob(blob=pattern(request.number))

    def Fail(self, request, context):
        context.abort(CODES[request.code], request.message)

    def Header(self, request, context):
        for name, value in context.invocation_metadata():
            if name == request.text:
                value = value if isinstance(value, bytes) else value.encode()
                return Text(text=value.hex())
        return Text()

    def TimeLeft(self, request, context):
        left = context.time_remaining()
        # Without a deadline grpcio says that there are thousands of years left.
        return Number(number=-1 if left is None or left > 1e9 else int(left * 1000))

    def Wait(self, request, context):
        gone = threading.Event()
        if context.add_callback(gone.set):
            gone.wait(60)
        with self.lock:
            self.gone[request.number] = self.gone.get(request.number, 0) + 1
        return Empty()

    def GivenUp(self, request, context):
        with self.lock:
            return Number(number=self.gone.get(request.number, 0))


class Mapped(MappedServicer):
    def add(self, request, context):
        return AddResponse(result=request.left + request.right)

    def pairs(self, request, context):
        pairs = [Pair(left=number, right=number * number) for number in range(request.count)]
        return PairsResponse(result=pairs)

    def lengths(self, request, context):
        times = 2 if request.doubled else 1
        return LengthsResponse(result={word: len(word) * times for word in request.words})

    def turn(self, request, context):
        return TurnResponse(result=Pair(left=request.pair.right, right=request.pair.left))

    def nothing(self, request, context):
        return NothingResponse()

    def fail(self, request, context):
        thrown = {"refused": Refused(why="no", count=3), "missing": Missing(what="it")}
        if request.how in thrown:
            status = Status(code=grpc.StatusCode.UNKNOWN.value[0], message="thrown")
            status.details.add().Pack(thrown[request.how])
            details = ("grpc-status-details-bin", status.SerializeToString())
            context.set_trailing_metadata((details,))
            context.abort(grpc.StatusCode.UNKNOWN, "thrown")
        if request.how == "internal":
            context.abort(grpc.StatusCode.INTERNAL, "undeclared failure")
        return FailResponse(result=42)
