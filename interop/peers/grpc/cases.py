"""What the client tries."""

import threading
import time

import grpc
from calls_pb2 import Failure, Number, Text, Value
from calls_pb2_grpc import CallsStub
from google.protobuf.empty_pb2 import Empty
from google.rpc.status_pb2 import Status
from handler import CODES, known, pattern
from mapped_pb2 import (
    AddRequest, FailRequest, LengthsRequest, Missing, NothingRequest, Pair, PairsRequest, Refused,
    TurnRequest,
)
from mapped_pb2_grpc import MappedStub

SECONDS = 30
CASES = {}


def case(run):
    CASES[run.__name__] = run
    return run


def check(got, want):
    if got != want:
        raise AssertionError("got %.100r, want %.100r" % (got, want))


def failure(call, *arguments, **options):
    """The error that the call ends with."""
    try:
        call(*arguments, timeout=options.pop("timeout", SECONDS), **options)
    except grpc.RpcError as error:
        return error
    raise AssertionError("the call did not fail")


@case
def echo(channel):
    calls = CallsStub(channel)
    for value in (Value(), known()):
        check(calls.Echo(value, timeout=SECONDS), value)


@case
def known_value(channel):
    check(CallsStub(channel).Known(Empty(), timeout=SECONDS), known())


@case
def large(channel):
    calls = CallsStub(channel)
    for size in (0, 1, 127, 16 << 10, 70_000, 5_000_000):
        check(calls.Make(Number(number=size), timeout=SECONDS).blob, pattern(size))
        value = Value(blob=pattern(size))
        check(calls.Echo(value, timeout=SECONDS), value)


@case
def gzip(channel):
    value = Value(text="x" * 100_000)
    got = CallsStub(channel).Echo(value, timeout=SECONDS, compression=grpc.Compression.Gzip)
    check(got, value)


@case
def codes(channel):
    calls = CallsStub(channel)
    for number, code in CODES.items():
        if number == 0:
            continue
        error = failure(calls.Fail, Failure(code=number, message="number %d" % number))
        check((error.code(), error.details()), (code, "number %d" % number))


@case
def special_message(channel):
    text = "\t\n100% Grüße, 世界 🚀\r\n "
    error = failure(CallsStub(channel).Fail, Failure(code=10, message=text))
    check(error.details(), text)


@case
def metadata(channel):
    calls = CallsStub(channel)
    sent = (("colour", "dark blue"), ("trace-bin", b"\0\xff,"))
    for name, value in (("colour", b"dark blue"), ("trace-bin", b"\0\xff,"), ("none", b"")):
        got = calls.Header(Text(text=name), timeout=SECONDS, metadata=sent)
        check(bytes.fromhex(got.text), value)


@case
def time_left(channel):
    calls = CallsStub(channel)
    left = calls.TimeLeft(Empty(), timeout=20).number
    # The library rounds it up.
    check(19_000 < left < 21_000, True)
    check(calls.TimeLeft(Empty()).number, -1)


def given_up(calls, number):
    """Waits until the server has noticed that one caller has gone."""
    for _ in range(SECONDS * 100):
        if calls.GivenUp(Number(number=number), timeout=SECONDS).number == 1:
            return
        time.sleep(0.01)
    raise AssertionError("the handler was not told")


def fresh():
    """A number that no other run has."""
    return time.time_ns()


@case
def deadline(channel):
    calls, number = CallsStub(channel), fresh()
    error = failure(calls.Wait, Number(number=number), timeout=0.1)
    check(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
    given_up(calls, number)


@case
def cancel(channel):
    calls, number = CallsStub(channel), fresh()
    call = calls.Wait.future(Number(number=number), timeout=SECONDS)
    # It has arrived when a later call is answered.
    calls.Known(Empty(), timeout=SECONDS)
    call.cancel()
    given_up(calls, number)


@case
def side_by_side(channel):
    calls, number = CallsStub(channel), fresh()
    waiting = calls.Wait.future(Number(number=number), timeout=SECONDS)
    answers = []

    def ask():
        for _ in range(20):
            answers.append(calls.Known(Empty(), timeout=SECONDS) == known())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waiting.cancel()
    check(answers, [True] * 160)


@case
def unknown(channel):
    for path in ("/calls.v1.Calls/Nope", "/calls.v2.Calls/Echo", "/Nope/Echo"):
        call = channel.unary_unary(path)
        check(failure(call, b"").code(), grpc.StatusCode.UNIMPLEMENTED)


@case
def no_message_of_its_type(channel):
    call = channel.unary_unary("/calls.v1.Calls/Echo")
    check(failure(call, b"\x4a\x09cut").code() in (
        grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL), True)


@case
def mapped(channel):
    calls = MappedStub(channel)
    for left, right in ((1, 2), (0, 0), (-5, 3)):
        got = calls.add(AddRequest(left=left, right=right), timeout=SECONDS)
        check(got.result, left + right)
    for count in (0, 1, 100):
        got = calls.pairs(PairsRequest(count=count), timeout=SECONDS).result
        check([(pair.left, pair.right) for pair in got],
              [(number, number * number) for number in range(count)])
    for words, doubled in (([], True), (["", "a", "bcd"], False), (["xy"], True)):
        got = calls.lengths(LengthsRequest(words=words, doubled=doubled), timeout=SECONDS)
        check(dict(got.result), {word: len(word) << doubled for word in words})
    pair = Pair(left=1, right=2)
    check(calls.turn(TurnRequest(pair=pair), timeout=SECONDS).result, Pair(left=2, right=1))
    calls.nothing(NothingRequest(), timeout=SECONDS)


@case
def mapped_exceptions(channel):
    calls = MappedStub(channel)
    for how, thrown in (("refused", Refused(why="no", count=3)), ("missing", Missing(what="it"))):
        error = failure(calls.fail, FailRequest(how=how))
        check(error.code(), grpc.StatusCode.UNKNOWN)
        metadata = dict(error.trailing_metadata())
        status = Status.FromString(metadata["grpc-status-details-bin"])
        got = type(thrown)()
        check(status.details[0].Unpack(got), True)
        check(got, thrown)
    error = failure(calls.fail, FailRequest(how="internal"))
    check((error.code(), error.details()), (grpc.StatusCode.INTERNAL, "undeclared failure"))
    check(calls.fail(FailRequest(how=""), timeout=SECONDS).result, 42)
