"""aio-msgpack-rpc. The wire has no headers: callers log in first, on the same connection."""

import asyncio

import msgpack
from aio_msgpack_rpc import Client
from aio_msgpack_rpc.error import RPCResponseError
from rows import code_in, run


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


run(lambda _, port, token, method: asyncio.run(called(port, token, method)))
