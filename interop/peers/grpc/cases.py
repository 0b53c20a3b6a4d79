"""What the client tries."""

import queue
import threading
import time

import grpc
from calls_pb2 import Blob, Failure, Many, Number, Text, Value
from calls_pb2_grpc import CallsStub
from derived_pb2 import (
    EchoI32Request, EchoUuidRequest, EchoUuidsRequest, GreetRequest, KnownUuidsRequest,
)
from derived_pb2_grpc import SecondStub, UuidServiceStub
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.empty_pb2 import Empty
from google.rpc.status_pb2 import Status
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from grpc_reflection.v1alpha.reflection_pb2 import (
    ServerReflectionRequest, ServerReflectionResponse,
)
from handler import CODES, KNOWN, known, pattern, uuids
from mapped_pb2 import (
    AddRequest, CountRequest, FailRequest, LengthsRequest, Missing, NothingRequest, NumbersRequest,
    Pair, PairsRequest, Refused, SumParams, SumRequest, TurnAllRequest, TurnRequest,
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
        thrown_by(failure(calls.fail, FailRequest(how=how)), thrown)
    error = failure(calls.fail, FailRequest(how="internal"))
    check((error.code(), error.details()), (grpc.StatusCode.INTERNAL, "undeclared failure"))
    check(calls.fail(FailRequest(how=""), timeout=SECONDS).result, 42)


@case
def derived_second(channel):
    calls = SecondStub(channel)
    check(calls.greet(GreetRequest(name="you"), timeout=SECONDS).result, "hello, you")
    for value in (0, 1, -5000):
        check(calls.echo_i32(EchoI32Request(value=value), timeout=SECONDS).result, value + 1000)


@case
def derived_uuids(channel):
    calls = UuidServiceStub(channel)
    for value in KNOWN:
        check(calls.echo_uuid(EchoUuidRequest(value=value), timeout=SECONDS).result, value)
    check(calls.echo_uuids(EchoUuidsRequest(value=uuids()), timeout=SECONDS).result, uuids())
    check(list(calls.known_uuids(KnownUuidsRequest(), timeout=SECONDS).result), KNOWN)
    error = failure(calls.echo_uuid, EchoUuidRequest(value=b"short"))
    check(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
def thrown_by(error, thrown):
    """Whether the error has this exception as a detail."""
    check(error.code(), grpc.StatusCode.UNKNOWN)
    metadata = dict(error.trailing_metadata())
    status = Status.FromString(metadata["grpc-status-details-bin"])
    got = type(thrown)()
    check(status.details[0].Unpack(got), True)
    check(got, thrown)


def ends(items):
    """What comes, and the error at the end."""
    got = []
    try:
        for item in items:
            got.append(item)
    except grpc.RpcError as error:
        return got, error
    return got, None


@case
def server_stream(channel):
    calls = CallsStub(channel)
    for count, size in ((0, 1), (1, 0), (1000, 10), (20, 100_000), (2, 3_000_000)):
        got, error = ends(calls.MakeMany(Many(count=count, size=size), timeout=SECONDS))
        check(error, None)
        check([item.blob for item in got] == [pattern(size)] * count, True)


@case
def server_stream_fails(channel):
    calls = CallsStub(channel)
    for count in (0, 1, 1000):
        got, error = ends(calls.MakeMany(Many(count=count, size=9, code=10), timeout=SECONDS))
        check(len(got), count)
        check((error.code(), error.details()), (grpc.StatusCode.ABORTED, "after %d" % count))


@case
def client_stream(channel):
    calls = CallsStub(channel)
    for count in (0, 1, 10_000):
        numbers = (Number(number=number) for number in range(count))
        check(calls.Sum(numbers, timeout=SECONDS).number, count * (count - 1) // 2)
    for count, size in ((20, 100_000), (2, 3_000_000)):
        blobs = (Blob(blob=pattern(size)) for _ in range(count))
        check(calls.Measure(blobs, timeout=SECONDS).number, count * size)


@case
def client_stream_refused(channel):
    calls = CallsStub(channel)

    def numbers():
        yield Number(number=-1)
        for _ in range(100_000):
            yield Number(number=1)

    error = failure(calls.Sum, numbers())
    check(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
    check(calls.Sum(iter([Number(number=3)]), timeout=SECONDS).number, 3)


@case
def client_stream_gzip(channel):
    calls = CallsStub(channel)
    blobs = (Blob(blob=bytes(10_000)) for _ in range(10))
    got = calls.Measure(blobs, timeout=SECONDS, compression=grpc.Compression.Gzip)
    check(got.number, 100_000)


@case
def both_streams(channel):
    calls = CallsStub(channel)
    sent = queue.SimpleQueue()
    echoes = calls.EchoMany(iter(sent.get, None), timeout=SECONDS)
    for number in range(200):
        value = known() if number == 7 else Value(number=number)
        sent.put(value)
        check(next(echoes), value)
    sent.put(None)
    check(ends(echoes), ([], None))


@case
def slow_reader(channel):
    calls = CallsStub(channel)
    blobs = calls.MakeMany(Many(count=100, size=100_000), timeout=SECONDS)
    check(next(blobs).blob, pattern(100_000))
    # Meanwhile the server has to wait, and other calls have not.
    for _ in range(100):
        check(calls.Known(Empty(), timeout=SECONDS), known())
    check(sum(len(blob.blob) for blob in blobs), 99 * 100_000)


@case
def cancel_stream(channel):
    calls, number = CallsStub(channel), fresh()
    waiting = calls.WaitMany(iter([Number(number=number)]), timeout=SECONDS)
    check(next(waiting).number, number)
    waiting.cancel()
    given_up(calls, number)


@case
def deadline_of_a_stream(channel):
    calls, number = CallsStub(channel), fresh()
    got, error = ends(calls.WaitMany(iter([Number(number=number)]), timeout=0.3))
    check([item.number for item in got], [number])
    check(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
    given_up(calls, number)


@case
def mapped_streams(channel):
    calls = MappedStub(channel)
    got, error = ends(calls.count(CountRequest(to=3, missing_at=-1), timeout=SECONDS))
    check((got[0].result, [each.item for each in got[1:]], error), ("to 3", [0, 1, 2], None))
    got, error = ends(calls.numbers(NumbersRequest(to=3), timeout=SECONDS))
    check(([each.item for each in got], error), ([0, 1, 2], None))
    items = [SumRequest(params=SumParams(start=1 << 40))]
    items += [SumRequest(item=number) for number in range(4)]
    check(calls.sum(iter(items), timeout=SECONDS).result, (1 << 40) + 6)
    pairs = [TurnAllRequest(item=Pair(left=number, right=-1)) for number in range(3)]
    got, error = ends(calls.turn_all(iter(pairs), timeout=SECONDS))
    check([each.item for each in got], [Pair(left=-1, right=number) for number in range(3)])


@case
def mapped_stream_exceptions(channel):
    calls = MappedStub(channel)
    for at in (0, 2):
        got, error = ends(calls.count(CountRequest(to=3, missing_at=at), timeout=SECONDS))
        check(len(got), 1 + at)
        thrown_by(error, Missing(what="number %d" % at))
    got, error = ends(calls.count(CountRequest(to=-1), timeout=SECONDS))
    check(got, [])
    thrown_by(error, Refused(why="below zero"))


@case
def health(channel):
    stub = HealthStub(channel)
    for service in ("", "calls.v1.Calls"):
        got = stub.Check(HealthCheckRequest(service=service), timeout=SECONDS)
        check(got.status, HealthCheckResponse.SERVING)
    error = failure(stub.Check, HealthCheckRequest(service="nobody"))
    check(error.code(), grpc.StatusCode.NOT_FOUND)
    for service, status in (("", HealthCheckResponse.SERVING),
                            ("nobody", HealthCheckResponse.SERVICE_UNKNOWN)):
        watched = stub.Watch(HealthCheckRequest(service=service), timeout=SECONDS)
        check(next(watched).status, status)
        watched.cancel()


@case
def reflection(channel):
    database = ProtoReflectionDescriptorDatabase(channel)
    check("calls.v1.Calls" in database.get_services(), True)
    pool = DescriptorPool(database)
    calls = pool.FindServiceByName("calls.v1.Calls")
    check(calls.methods_by_name["Echo"].input_type.full_name, "calls.v1.Value")
    check(calls.methods_by_name["Known"].input_type.full_name, "google.protobuf.Empty")
    part = pool.FindMessageTypeByName("calls.v1.Value.Part")
    check([field.name for field in part.fields], ["name", "count"])
    check(list(database.FindAllExtensionNumbers("calls.v1.Value")), [])
    for missing in (database.FindFileByName, database.FindFileContainingSymbol):
        try:
            missing("nobody.Nothing")
        except KeyError:
            continue
        raise AssertionError("a file of nobody's")


@case
def reflection_v1(channel):
    """The messages are those of v1alpha, under another name."""
    ask = channel.stream_stream(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        ServerReflectionRequest.SerializeToString, ServerReflectionResponse.FromString)
    asked = [ServerReflectionRequest(host="here", list_services=""),
             ServerReflectionRequest(file_containing_symbol="calls.v1.Calls.Echo"),
             ServerReflectionRequest(file_by_filename="nowhere")]
    services, file, nothing = ask(iter(asked), timeout=SECONDS)
    check((services.valid_host, services.original_request), ("here", asked[0]))
    check("calls.v1.Calls" in [one.name for one in services.list_services_response.service], True)
    check(len(file.file_descriptor_response.file_descriptor_proto), 1)
    check(nothing.error_response.error_code, grpc.StatusCode.NOT_FOUND.value[0])
