"""The same contract over msgpack-rpc: aio-msgpack-rpc's client and server around values of the generated classes.

A struct is a list in which the field with the id n is the n-th element, or, with ids above 255, a map from id to value
(docs/spec/msgpack-rpc.md). The generated `thrift_spec`, a tuple in the order of ids, says which field is where.
"""

import asyncio

import msgpack
from aio_msgpack_rpc import Client, Server
from aio_msgpack_rpc.error import RPCResponseError
from interop import Base
from thrift.Thrift import TApplicationException, TType

LAST_PLACE = 255
SECONDS = 30


def packer():
    return msgpack.Packer(use_bin_type=True)


def unpacker():
    # Lists as keys of maps, which Python only has as tuples.
    return msgpack.Unpacker(raw=False, strict_map_key=False, use_list=False)


# ----- values


def fields(cls):
    return [field for field in cls.thrift_spec if field]


def struct_to_wire(value):
    present = {field[0]: to_wire(field[1], field[3], getattr(value, field[2]))
               for field in fields(type(value)) if getattr(value, field[2]) is not None}
    if any(number > LAST_PLACE for number in present):
        return present
    return [present.get(number + 1) for number in range(max(present, default=0))]


def struct_from_wire(cls, sent):
    if not isinstance(sent, dict):
        sent = {number + 1: value for number, value in enumerate(sent) if value is not None}
    present = {field[2]: from_wire(field[1], field[3], sent[field[0]])
               for field in fields(cls) if field[0] in sent}
    return cls(**present)


def to_wire(ttype, args, value):
    if ttype == TType.STRUCT:
        return struct_to_wire(value)
    if ttype == TType.LIST:
        return [to_wire(args[0], args[1], each) for each in value]
    if ttype == TType.SET:
        wire = [to_wire(args[0], args[1], each) for each in value]
        return sorted(wire)
    if ttype == TType.MAP:
        key = lambda key: hashable(to_wire(args[0], args[1], key))
        return {key(each): to_wire(args[2], args[3], value[each]) for each in value}
    return value


def hashable(value):
    return tuple(map(hashable, value)) if isinstance(value, list) else value


def from_wire(ttype, args, sent):
    if ttype == TType.STRUCT:
        return struct_from_wire(args[0], sent)
    if ttype in (TType.LIST, TType.SET):
        values = [from_wire(args[0], args[1], each) for each in sent]
        return set(values) if ttype == TType.SET else values
    if ttype == TType.MAP:
        return {from_wire(args[0], args[1], key): from_wire(args[2], args[3], value)
                for key, value in sent.items()}
    return sent


def signature(module, method):
    """The parameters of a method, and what it may answer: result and exceptions."""
    if not hasattr(module, method + "_args"):
        module = Base
    return (fields(getattr(module, method + "_args")),
            fields(getattr(module, method + "_result", None) or getattr(module, method + "_args")))


# ----- server


class Dispatcher:
    """What aio-msgpack-rpc looks methods up in: the services by name, of which the first one needs none."""

    def __init__(self, services):
        self._services = services

    def __getattr__(self, called):
        service, _, name = called.rpartition(".")
        module, handler = self._services.get(service or next(iter(self._services)), (None, None))
        method = getattr(handler, name, None)
        if method is None or not knows(module, name):
            raise AttributeError("Unknown method: " + called)
        params, answers = signature(module, name)

        def call(*sent):
            values = [from_wire(field[1], field[3], value) for field, value in zip(params, sent)]
            result = method(*values)
            success = [field for field in answers if field[0] == 0]
            return to_wire(success[0][1], success[0][3], result) if success else None

        return call


def knows(module, name):
    return any(hasattr(each, name + "_args") for each in (module, Base))


def serve(services, address, ready):
    server = lambda loop: Server(Dispatcher(services), packer=packer(),
                                 unpacker_factory=unpacker, loop=loop)

    async def run():
        answer = server(asyncio.get_running_loop())
        if address.startswith("unix:"):
            listener = await asyncio.start_unix_server(answer, address[len("unix:"):])
            ready(address)
        else:
            host, port = address.rsplit(":", 1)
            listener = await asyncio.start_server(answer, host, int(port))
            ready("%s:%d" % listener.sockets[0].getsockname()[:2])
        await listener.serve_forever()

    asyncio.run(run())


# ----- client


class Connection:
    """A connection, and the loop that it lives on."""

    def __init__(self, address):
        self.loop = asyncio.new_event_loop()
        self.client = self.run(self._connect(address))

    async def _connect(self, address):
        if address.startswith("unix:"):
            ends = await asyncio.open_unix_connection(address[len("unix:"):])
        else:
            host, port = address.rsplit(":", 1)
            ends = await asyncio.open_connection(host, int(port))
        return Client(*ends, packer=packer(), unpacker=unpacker(), loop=self.loop,
                      response_timeout=SECONDS)

    def run(self, work):
        return self.loop.run_until_complete(work)

    def close(self):
        self.client.close()
        self.run(asyncio.sleep(0))
        self.loop.close()


class ServiceClient:
    """Looks like a generated client: `echo_i32(1)`, or `send_echo_i32(1)` and later `recv_echo_i32()`."""

    def __init__(self, module, connection, prefix=""):
        self._module = module
        self._connection = connection
        self._prefix = prefix
        self._tasks = []

    def __getattr__(self, name):
        if name.startswith("send_"):
            return lambda *values: self._tasks.append(
                self._connection.loop.create_task(self._call(name[len("send_"):], values)))
        if name.startswith("recv_"):
            return lambda: self._connection.run(self._tasks.pop(0))
        return lambda *values: self._connection.run(self._call(name, values))

    async def _call(self, name, values):
        params, answers = signature(self._module, name)
        sent = [to_wire(field[1], field[3], value) for field, value in zip(params, values)]
        if not hasattr(self._module, name + "_result") and not hasattr(Base, name + "_result"):
            return await self._connection.client.notify(self._prefix + name, *sent)
        try:
            result = await self._connection.client.call(self._prefix + name, *sent)
        except RPCResponseError as failure:
            raise exception(answers, failure.args[0]) from failure
        success = [field for field in answers if field[0] == 0]
        return from_wire(success[0][1], success[0][3], result) if success else result


def exception(answers, error):
    """A declared exception is a map from its name; everything else is text."""
    if isinstance(error, dict):
        (name, value), = error.items()
        for field in answers:
            if field[0] != 0 and field[2] == name:
                return struct_from_wire(field[3][0], value)
    unknown = str(error).startswith("UNIMPLEMENTED: ")
    kind = TApplicationException.UNKNOWN_METHOD if unknown else TApplicationException.INTERNAL_ERROR
    return TApplicationException(kind, str(error))
