"""What the server answers."""

import threading

import grpc
from calls_pb2 import BLUE, Blob, Number, Text, Value
from calls_pb2_grpc import CallsServicer
from derived_pb2 import (
    EchoI32Response, EchoUuidResponse, EchoUuidsResponse, GreetResponse, KnownUuidsResponse, Uuids,
    UuidToUuidEntry,
)
from derived_pb2_grpc import SecondServicer, UuidServiceServicer
from google.protobuf.empty_pb2 import Empty
from google.rpc.status_pb2 import Status
from mapped_pb2 import (
    AddResponse, CountResponse, FailResponse, LengthsResponse, Missing, NothingResponse,
    NumbersResponse, Pair, PairsResponse, Refused, SumResponse, TurnAllResponse, TurnResponse,
)
from mapped_pb2_grpc import MappedServicer

CODES = {code.value[0]: code for code in grpc.StatusCode}


def known():
    return Value(
        truth=True, number=-1, large=-1 << 63, unsigned=(1 << 64) - 1, zigzag=-5, fixed=7,
        single=0.5, real=-1234.5, text="Grüße, 世界 🚀", blob=b"\0\xff", colour=BLUE, may=0,
        numbers=[0, 1, -1], parts=[Value.Part(name="a"), Value.Part(count=2)],
        counts={"one": 1, "": 0}, part=Value.Part(name="last", count=-3))


# Nil, one with a different byte in each place, and all ones.
KNOWN = [bytes(16), bytes.fromhex("00112233445566778899aabbccddeeff"), b"\xff" * 16]


def uuids():
    _, middle, last = KNOWN
    return Uuids(single=middle, many=KNOWN, pairs=[UuidToUuidEntry(key=middle, value=last)],
                 distinct=[last], last="end")


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
        context.send_initial_metadata((("asked", request.text),))
        context.set_trailing_metadata((("asked-bin", request.text.encode()),))
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
        self.count(request.number)
        return Empty()

    def count(self, number):
        with self.lock:
            self.gone[number] = self.gone.get(number, 0) + 1

    def GivenUp(self, request, context):
        with self.lock:
            return Number(number=self.gone.get(request.number, 0))

    def MakeMany(self, request, context):
        for _ in range(request.count):
            yield Blob(blob=pattern(request.size))
        if request.code:
            context.abort(CODES[request.code], "after %d" % request.count)

    def Sum(self, requests, context):
        total = 0
        for request in requests:
            if request.number < 0:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "negative")
            total += request.number
        return Number(number=total)

    def Measure(self, requests, context):
        return Number(number=sum(len(request.blob) for request in requests))

    def EchoMany(self, requests, context):
        yield from requests

    def WaitMany(self, requests, context):
        first = next(requests)
        gone = threading.Event()
        context.add_callback(gone.set)
        try:
            # Where the caller has gone by then, the library never comes back here.
            yield first
            gone.wait(60)
        finally:
            self.count(first.number)


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
            throw(context, thrown[request.how])
        if request.how == "internal":
            context.abort(grpc.StatusCode.INTERNAL, "undeclared failure")
        return FailResponse(result=42)

    def count(self, request, context):
        if request.to < 0:
            throw(context, Refused(why="below zero"))
        yield CountResponse(result="to %d" % request.to)
        for number in range(request.to):
            if number == request.missing_at:
                throw(context, Missing(what="number %d" % number))
            yield CountResponse(item=number)

    def numbers(self, request, context):
        return (NumbersResponse(item=number) for number in range(request.to))

    def sum(self, requests, context):
        first = next(requests)
        return SumResponse(result=first.params.start + sum(request.item for request in requests))

    def turn_all(self, requests, context):
        for request in requests:
            yield TurnAllResponse(item=Pair(left=request.item.right, right=request.item.left))


class Second(SecondServicer):
    def greet(self, request, context):
        return GreetResponse(result="hello, " + request.name)

    def echo_i32(self, request, context):
        return EchoI32Response(result=request.value + 1000)


class UuidService(UuidServiceServicer):
    def echo_uuid(self, request, context):
        if len(request.value) != 16:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no uuid")
        return EchoUuidResponse(result=request.value)

    def echo_uuids(self, request, context):
        return EchoUuidsResponse(result=request.value)

    def known_uuids(self, request, context):
        return KnownUuidsResponse(result=KNOWN)


def throw(context, exception):
    """Ends the call with an exception as a detail."""
    status = Status(code=grpc.StatusCode.UNKNOWN.value[0], message="thrown")
    status.details.add().Pack(exception)
    details = ("grpc-status-details-bin", status.SerializeToString())
    context.set_trailing_metadata((details,))
    context.abort(grpc.StatusCode.UNKNOWN, "thrown")
