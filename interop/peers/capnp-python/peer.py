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


class Server(places.Places.Server):
    def __init__(self, gone):
        self.gone = gone

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
    failed = False
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
