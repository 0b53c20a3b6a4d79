"""What the clients say on a socket, and what they hear."""

import asyncio
import json
import time

from clients import Refused, Websockets, vanish

FINE = [{"end": {}}, (1000, "")]
SUM = "calls.v1.Calls/Sum"
WAIT_MANY = "calls.v1.Calls/WaitMany"
TURN_ALL = "mapped.Mapped/turn_all"

REFUSED = {"type": "mapped.Refused", "value": "CgJubxAD", "debug": {"why": "no", "count": 3}}
MISSING = {"type": "mapped.Missing", "value": "CghudW1iZXIgMg", "debug": {"what": "number 2"}}


def params(**params):
    return {"params": params}


def failed(code, message, *details):
    error = {"code": code, "message": message}
    if details:
        error["details"] = list(details)
    return [{"end": {"error": error}}, (1000, "")]


def refused(code, message):
    """A failure of a call that did not run."""
    [end, closed] = failed(code, message)
    end["end"]["metadata"] = {"dovetail-execution": ["not-started"]}
    return [end, closed]


# For each case a method, the headers of the handshake, and by turns what is said and what is heard. Messages that are
# neither text nor bytes are said as JSON.
CONVERSATIONS = {
    "unary": ("mapped.Mapped/lengths", {}, [
        ([params(words=["", "Grüße, 世界 🚀"], doubled=True)],
         [{"result": {"": 0, "Grüße, 世界 🚀": 40}}, *FINE])]),
    "message": ("calls.v1.Calls/Make", {}, [([params(number=3)], [{"result": {"blob": "AAEC"}}, *FINE])]),
    "trait": ("Second/greet", {}, [([params(name="Ada")], [{"result": "hello, Ada"}, *FINE])]),
    "nothing": ("mapped.Mapped/nothing", {}, [([params()], FINE)]),
    "headers": ("calls.v1.Calls/Header", {}, [
        ([{"headers": {"colour": "blue"}}, params(text="colour")], [{"result": {"text": "626c7565"}}, *FINE])]),
    "headers_of_the_handshake": ("calls.v1.Calls/Header", {"Colour": "red"}, [
        ([{"headers": {"colour": "blue"}}, params(text="colour")], [{"result": {"text": "726564"}}, *FINE])]),
    "exception": ("mapped.Mapped/fail", {}, [
        ([params(how="refused")], failed("unknown", "the method has thrown `mapped.Refused`", REFUSED))]),
    "exception_of_a_stream": ("mapped.Mapped/count", {}, [
        ([params(to=9, missing_at=2)],
         [{"result": "to 9"}, {"item": 0}, {"item": 1},
          *failed("unknown", "the method has thrown `mapped.Missing`", MISSING)])]),
    "status": ("calls.v1.Calls/Fail", {}, [([params(code=5, message="gone")], failed("not_found", "gone"))]),
    "unknown_method": ("calls.v1.Calls/Nope", {}, [([params()], refused("unimplemented", "no method `Nope` here"))]),
    "wrong_parameters": ("mapped.Mapped/add", {}, [
        ([params(left="x")],
         refused("invalid_argument",
                 "the parameters of `add` cannot be decoded: left: \"x\" is not a number that fits here"))]),
    "server_stream": ("mapped.Mapped/numbers", {}, [
        ([params(to=1000)], [*({"item": item} for item in range(1000)), *FINE])]),
    "server_stream_of_messages": ("calls.v1.Calls/MakeMany", {}, [
        ([params(count=2, size=3, code=10)], [{"item": {"blob": "AAEC"}}] * 2 + failed("aborted", "after 2"))]),
    "client_stream": ("mapped.Mapped/sum", {}, [
        ([params(start=1), *({"item": item} for item in range(1000)), {"end": {}}], [{"result": "499501"}, *FINE])]),
    "client_stream_of_messages": (SUM, {}, [
        ([params(), {"item": {"number": 40}}, {"item": {"number": "2"}}, {"end": {}}],
         [{"result": {"number": "42"}}, *FINE])]),
    "answered_before_the_end": (SUM, {}, [
        ([params(), {"item": {"number": -1}}], failed("invalid_argument", "-1 is negative"))]),
    "both_ways": (TURN_ALL, {}, [
        ([params()], []),
        *(([{"item": {"left": 1, "right": right}}], [{"item": {"left": right, "right": 1}}]) for right in range(20)),
        ([{"end": {}}], FINE)]),
    "no_json": (TURN_ALL, {}, [(["hello"], [(1008, 'the first message is {"headers": …} or {"params": …}')])]),
    "no_json_in_the_middle": (TURN_ALL, {}, [
        ([params(), {"item": {"left": 1, "right": 2}}], [{"item": {"left": 2, "right": 1}}]),
        (["{"], [(1008, 'behind the parameters come messages {"item": …}, then {"end": {}}')])]),
    "binary": (TURN_ALL, {}, [([b"{}"], [(1003, "a binary message: calls are text messages, in JSON")])]),
}


def check(got, want):
    if got != want:
        raise AssertionError("got %.200r, want %.200r" % (got, want))


async def say(client, message):
    await client.say(message if isinstance(message, (str, bytes)) else json.dumps(message))


async def converse(connect, method, headers, turns):
    async with connect(method, headers) as client:
        for said, heard in turns:
            for message in said:
                await say(client, message)
            for want in heard:
                check(await client.hear(), want)


async def deadline(connect):
    async with connect("calls.v1.Calls/TimeLeft") as client:
        await say(client, {"headers": {"Connect-Timeout-Ms": "60000"}})
        await say(client, params())
        left = int((await client.hear())["result"]["number"])
        check(0 < left <= 60_000, True)
        check([await client.hear() for _ in FINE], FINE)


async def lengths(connect):
    """Frames of all three kinds of length, in both directions."""
    async with connect("calls.v1.Calls/EchoMany") as client:
        await say(client, params())
        for length in (0, 30, 1000, 70_000, 3_000_000):
            await say(client, {"item": {"text": "x" * length}})
            # An empty text is left out, as protobuf's JSON has it.
            check((await client.hear())["item"].get("text", ""), "x" * length)
        await say(client, {"end": {}})
        check([await client.hear() for _ in FINE], FINE)


async def ping(connect):
    """Before the call, while it runs, and with nothing in it."""
    async with connect(TURN_ALL) as client:
        await client.ping(b"before")
        await say(client, params())
        await client.ping(b"\x00\xff" * 60)
        await say(client, {"item": {"left": 1, "right": 2}})
        check(await client.hear(), {"item": {"left": 2, "right": 1}})
        await client.ping(b"")
        await say(client, {"end": {}})
        check([await client.hear() for _ in FINE], FINE)


async def fragments(connect):
    """One piece for each character, and a ping among them."""
    async with connect(TURN_ALL) as client:
        async def pieces(message):
            for at, character in enumerate(json.dumps(message)):
                if at == 5:
                    await client.ping(b"between")
                yield character

        for message in (params(), {"item": {"left": 1, "right": 2}}, {"end": {}}):
            await client.say(pieces(message))
        check([await client.hear() for _ in range(3)], [{"item": {"left": 2, "right": 1}}, *FINE])


async def given_up(connect, token):
    """Waits until the handler has been told that its caller has gone."""
    for _ in range(1000):
        async with connect("calls.v1.Calls/GivenUp") as client:
            await say(client, params(number=token))
            if await client.hear() == {"result": {"number": "1"}}:
                return
        await asyncio.sleep(0.01)
    raise AssertionError("the handler was not told")


async def waiting(client):
    """A call that has begun, and waits for its caller to go."""
    token = time.monotonic_ns()
    await say(client, params())
    await say(client, {"item": {"number": token}})
    check(await client.hear(), {"item": {"number": str(token)}})
    return token


async def close(connect):
    """In the middle of a call, with a code of the client's own."""
    async with connect(WAIT_MANY) as client:
        token = await waiting(client)
        check(await client.close(4000, "enough"), 4000)
    await given_up(connect, token)


async def close_before(connect):
    async with connect(WAIT_MANY) as client:
        check(await client.close(1000, ""), 1000)


async def gone(connect):
    """Without a close."""
    async with connect(WAIT_MANY) as client:
        token = await waiting(client)
        vanish(client)
    await given_up(connect, token)


async def origin(connect):
    """A page of another site."""
    try:
        async with connect("Second/greet", origin="https://elsewhere.example"):
            raise AssertionError("another site may call")
    except Refused as refused:
        check(refused.status, 403)


def scripted(conversation):
    return lambda connect: converse(connect, *conversation)


CASES = {name: scripted(conversation) for name, conversation in CONVERSATIONS.items()}
CASES.update(
    (case.__name__, case) for case in (deadline, lengths, ping, fragments, close, close_before, gone, origin))


def of(client):
    """The cases that a library has what it takes for."""
    return {name: run for name, run in CASES.items() if run is not fragments or client is Websockets}
