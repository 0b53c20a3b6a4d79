"""aio-msgpack-rpc. The wire has no headers: callers log in first, on the same connection."""

import asyncio

import msgpack
from aio_msgpack_rpc import Client
from aio_msgpack_rpc.error import RPCResponseError
from rows import code_in, handle_in, run


async def called(port, token, method):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = Client(reader, writer, packer=msgpack.Packer(use_bin_type=True), response_timeout=20)
    try:
        if token:
            await client.call("Session.login", token)
        parameters = {"place": ("lamp", 1), "broken": (1, "lamp"), "all": (), "find": (1,)}[method]
        answer = await client.call("Orders.place" if method == "broken" else "Orders." + method, *parameters)
        return "ada" if "'ada'" in str(answer) else "ok"
    except RPCResponseError as refused:
        return code_in(str(refused))
    finally:
        writer.close()


class Caller:
    """A caller of the cart, on a connection that remembers its session."""

    def __init__(self, _, port, token):
        self.loop = asyncio.new_event_loop()
        reader, self.writer = self.loop.run_until_complete(asyncio.open_connection("127.0.0.1", port))
        # Its tasks belong to the loop that runs.
        self.client = self.loop.run_until_complete(self.connected(reader))
        self.call("Session.login", token)

    async def connected(self, reader):
        return Client(reader, self.writer, packer=msgpack.Packer(use_bin_type=True), response_timeout=20)

    def call(self, *words):
        try:
            return str(self.loop.run_until_complete(self.client.call(*words)))
        except RPCResponseError as refused:
            return code_in(str(refused))

    def begin(self):
        return handle_in(self.call("Sessions.begin_session", "Cart"))

    def resume(self, handle):
        answer = self.call("Sessions.resume_session", handle)
        return None if answer == "None" else answer

    def add(self, item):
        return self.call("Cart.add", item, 1)

    def close(self):
        self.writer.close()


run(lambda _, port, token, method: asyncio.run(called(port, token, method)), Caller)
