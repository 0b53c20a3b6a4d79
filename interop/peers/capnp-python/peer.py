"""The Cap'n Proto peer in Python: pycapnp, which is Cap'n Proto's own library for C++ inside."""

import argparse
import asyncio
import json
import os
import ssl
import sys

import capnp

capnp.remove_import_hook()
CONTRACT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../contract/places.capnp")
places = capnp.load(os.path.abspath(CONTRACT))
CASES = {}
OPTIONS = None


class Counter(places.Counter.Server):
    alive = 0

    def __init__(self, total):
        self.total, self.added = total, []
        Counter.alive += 1

    def __del__(self):
        Counter.alive -= 1

    async def add(self, amount, _context, **_):
        self.total += amount
        self.added.append(amount)
        return self.total

    async def child(self, start, _context, **_):
        return Counter(start)


class Server(places.Places.Server):
    kept_counter = None

    def __init__(self, gone):
        self.gone = gone

    async def open(self, start, _context, **_):
        return Counter(start)

    async def giveBack(self, counter, _context, **_):
        return counter

    async def sum(self, first, others, _context, **_):
        counters = [first] + [other.counter for other in others]
        answers = await asyncio.gather(*(counter.add(amount=0) for counter in counters))
        return sum(answer.total for answer in answers)

    async def addTo(self, counter, amount, _context, **_):
        return (await counter.add(amount=amount)).total

    async def keep(self, counter, _context, **_):
        Server.kept_counter = counter

    async def kept(self, _context):
        return Server.kept_counter

    async def forget(self, _context):
        Server.kept_counter = None

    async def alive(self, _context):
        return Counter.alive

    async def whoami(self, _context):
        return "python"

    async def echo(self, value, _context, **_):
        return value

    async def known(self, _context):
        return [places.Everything.new_message(), places.full]

    async def join(self, first, second, third, _context, **_):
        return "%d,%s,%d" % (first, second, third)

    async def divide(self, dividend, divisor, _context, **_):
        quotient = int(dividend / divisor)
        return quotient, dividend - quotient * divisor

    async def turn(self, x, y, _context, **_):
        return y, x

    async def fail(self, how, _context, **_):
        if how == "none":
            return 42
        raise capnp.KjException(message="on purpose", type=how.upper())

    async def slow(self, milliseconds, _context, **_):
        await asyncio.sleep(milliseconds / 1000)
        return milliseconds

    async def bytes(self, count, _context, **_):
        return pattern(count)

    async def wait(self, token, _context, **_):
        try:
            await asyncio.Event().wait()
        finally:
            self.gone.add(token)

    async def wasCancelled(self, token, _context, **_):
        return token in self.gone


def pattern(count):
    return (bytes(range(256)) * (count // 256 + 1))[:count]


def case(run):
    CASES[run.__name__] = run
    return run


def check(got, want):
    if got != want:
        raise AssertionError("got %.200r, want %.200r" % (got, want))


def of(value):
    """All fields of a struct: a null list is an empty one."""
    return value.to_dict(verbose=True)


@case
async def whoami(client):
    # Inherited, and so of another interface.
    check(bool((await client.whoami()).name), True)


@case
async def known(client):
    values = (await client.known()).values
    check([of(value) for value in values], [of(places.Everything.new_message()), of(places.full)])


@case
async def echo_nothing(client):
    check(of((await client.echo()).value), of(places.Everything.new_message()))


@case
async def echo_everything(client):
    check(of((await client.echo(value=places.full)).value), of(places.full))


@case
async def shapes(client):
    for name, shape in (("circle", 2.5), ("name", "square")):
        value = places.Everything.new_message(left=-3)
        setattr(value.shape, name, shape)
        check(of((await client.echo(value=value)).value), of(value))


@case
async def parameters(client):
    check((await client.join(first=1, second="two")).text, "1,two,9")
    divided = await client.divide(dividend=-17, divisor=5)
    check((divided.quotient, divided.remainder), (-3, -2))
    turned = await client.turn(x=3)
    check((turned.x, turned.y), (-1, 3))


@case
async def failures(client):
    check((await client.fail(how="none")).answer, 42)
    for how in ("failed", "overloaded", "disconnected", "unimplemented"):
        try:
            await client.fail(how=how)
        except capnp.KjException as error:
            check((error.type.lower(), "on purpose" in error.description), (how, True))
        else:
            raise AssertionError("%s: no exception" % how)
    check((await client.fail(how="none")).answer, 42)


@case
async def another_interface(client):
    check(bool((await client.cast_as(places.Base).whoami()).name), True)


@case
async def bytes_of_all_sizes(client):
    for count in (0, 1, 70_000, 5_000_000):
        check((await client.bytes(count=count)).bytes == pattern(count), True)


@case
async def concurrent(client):
    slow = client.slow(milliseconds=300)
    quick = await asyncio.gather(*(client.slow(milliseconds=0) for _ in range(500)))
    check([answer.milliseconds for answer in quick], [0] * 500)
    check((await slow).milliseconds, 300)


@case
async def cancelled(client):
    token = "token of python %d" % os.getpid()
    call = asyncio.ensure_future(answer(client, token))
    await asyncio.sleep(0.2)
    call.cancel()
    for _ in range(100):
        if (await client.wasCancelled(token=token)).cancelled:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the handler was not told")


@case
async def objects(client):
    counter = (await client.open(start=5)).counter
    check((await counter.add(amount=2)).total, 7)
    child = (await counter.child(start=-1)).counter
    check((await child.add(amount=1)).total, 0)
    check((await counter.add(amount=0)).total, 7)


@case
async def pipelined(client):
    # Each is called on the answer to the one before it, which is not there yet.
    last = client.open(start=0).counter
    for start in range(1, 10):
        last = last.child(start=start).counter
    check((await last.add(amount=1)).total, 10)


@case
async def callbacks(client):
    request = client.sum_request()
    request.first = Counter(1)
    others = request.init("others", 3)
    others[0].counter = Counter(20)
    others[1].counter = client.open(start=300).counter
    others[2].counter = (await client.open(start=4000)).counter
    check((await request.send()).total, 4321)


@case
async def comes_home(client):
    # Calls that go by way of the server come before those that go directly.
    own = Counter(0)
    answer = client.giveBack(counter=own)
    counter = answer.counter
    calls = [counter.add(amount=amount) for amount in range(100)]
    await answer
    calls += [counter.add(amount=amount) for amount in range(100, 200)]
    await asyncio.gather(*calls)
    check(own.added, list(range(200)))


async def until(what, holds):
    for _ in range(200):
        if await holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("never %s" % what)


@case
async def released(client):
    before = (await client.alive()).count
    counters = [(await client.open(start=start)).counter for start in range(10)]
    # Those of another connection may go meanwhile.
    check((await client.alive()).count >= 10, True)
    del counters

    async def gone():
        return (await client.alive()).count <= before

    await until("released there", gone)
    own = Counter.alive
    await client.keep(counter=Counter(7))
    kept = (await client.kept()).counter
    check((await kept.add(amount=1)).total, 8)
    check(Counter.alive, own + 1)
    del kept
    await client.forget()

    async def dropped():
        return Counter.alive == own

    await until("released here", dropped)


@case
async def tail_call(client):
    check((await client.addTo(counter=Counter(40), amount=2)).total, 42)


@case
async def lost(client):
    # A connection ends amid a pipeline: the server lets go of its objects.
    before = (await client.alive()).count
    stream = await connect(OPTIONS)
    other = capnp.TwoPartyClient(stream).bootstrap().cast_as(places.Places)
    counters = [(await other.open(start=start)).counter for start in range(5)]
    last = counters[0].child(start=1).counter
    for start in range(2, 10):
        last = last.child(start=start).counter
    waiting = asyncio.ensure_future(answer(other, "token that nobody asks for"))
    check((await last.add(amount=0)).total, 9)
    check((await client.alive()).count >= 6, True)
    stream.close()

    async def gone():
        return (await client.alive()).count <= before

    await until("released there", gone)
    try:
        await waiting
    except capnp.KjException:
        return
    raise AssertionError("an answer on a connection that was lost")


async def answer(client, token):
    await client.wait(token=token)


def certificate(name):
    return os.path.join(os.environ["INTEROP_CERTIFICATES"], name)


def context(purpose):
    context = ssl.create_default_context(purpose, cafile=certificate("ca.pem"))
    context.load_cert_chain(certificate("peer.pem"), certificate("peer.key"))
    return context


async def connect(options):
    if options.address.startswith("unix:"):
        return await capnp.AsyncIoStream.create_unix_connection(options.address[len("unix:"):])
    host, port = options.address.rsplit(":", 1)
    tls = context(ssl.Purpose.SERVER_AUTH) if options.transport == "tls" else None
    return await capnp.AsyncIoStream.create_connection(host=host, port=int(port), ssl=tls)


async def run_case(options, run):
    stream = await connect(options)
    try:
        await run(capnp.TwoPartyClient(stream).bootstrap().cast_as(places.Places))
    finally:
        stream.close()


async def run_client(options):
    global OPTIONS
    OPTIONS, failed = options, False
    for name, run in CASES.items():
        if options.case and name != options.case:
            continue
        try:
            await asyncio.wait_for(run_case(options, run), 30)
            result, detail = "ok", ""
        except Exception as error:  # whatever the library throws is the finding
            result, detail = "fail", "%s: %s" % (type(error).__name__, error)
            failed = True
        print(json.dumps({"case": name, "result": result, "detail": detail[:300]}), flush=True)
    return 1 if failed else 0


async def run_server(options):
    gone = set()

    async def accept(stream):
        await capnp.TwoPartyServer(stream, bootstrap=Server(gone)).on_disconnect()

    if options.address.startswith("unix:"):
        await capnp.AsyncIoStream.create_unix_server(accept, options.address[len("unix:"):])
        print("READY %s" % options.address, flush=True)
    else:
        host, port = options.address.rsplit(":", 1)
        tls = context(ssl.Purpose.CLIENT_AUTH) if options.transport == "tls" else None
        server = await capnp.AsyncIoStream.create_server(accept, host, int(port), ssl=tls)
        print("READY %s:%d" % (host, server.sockets[0].getsockname()[1]), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


def capabilities():
    return [{"protocol": "capnp", "transport": transport, "multiplexed": False, "roles": ["client", "server"],
             "unix": transport == "buffered"} for transport in ("buffered", "tls")]


def main():
    parser = argparse.ArgumentParser(prog="capnp-python-peer")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("client", "server"):
        command = commands.add_parser(name)
        command.add_argument("--protocol", choices=("capnp",), default="capnp")
        command.add_argument("--transport", choices=("buffered", "tls"), default="buffered")
        command.add_argument("--address", required=True)
        command.add_argument("--case")
    commands.add_parser("capabilities")
    options = parser.parse_args()
    if options.command == "capabilities":
        print(json.dumps(capabilities(), indent=1))
    elif options.command == "client":
        sys.exit(asyncio.run(capnp.run(run_client(options))))
    else:
        asyncio.run(capnp.run(run_server(options)))


if __name__ == "__main__":
    main()
