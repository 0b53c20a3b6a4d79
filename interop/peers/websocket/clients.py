"""The two libraries, behind what the cases need of them.

What `hear` gives is the value of a text, which is JSON, or how the socket was closed: a pair of code and reason.
"""

import json
import socket
from contextlib import asynccontextmanager

import aiohttp
import websockets


class Refused(Exception):
    """The handshake was answered with another status."""

    def __init__(self, status):
        super().__init__("HTTP %d" % status)
        self.status = status


class Websockets:
    """The library `websockets`."""

    def __init__(self, connection):
        self.connection = connection
        self.transport = connection.transport

    @classmethod
    @asynccontextmanager
    async def connect(cls, url, tls, headers, origin):
        try:
            async with websockets.connect(
                    url, ssl=tls, additional_headers=headers, origin=origin, max_size=None, proxy=None) as connection:
                yield cls(connection)
        except websockets.InvalidStatus as refused:
            raise Refused(refused.response.status_code) from refused

    async def say(self, message):
        """Text, or bytes; pieces that come one by one are sent as fragments."""
        await self.connection.send(message)

    async def hear(self):
        try:
            return json.loads(await self.connection.recv())
        except websockets.ConnectionClosed as closed:
            return closed.rcvd and (closed.rcvd.code, closed.rcvd.reason)

    async def ping(self, payload):
        pong = await self.connection.ping(payload)
        await pong

    async def close(self, code, reason):
        """Gives the code of the answer."""
        await self.connection.close(code, reason)
        return self.connection.close_code


class Aiohttp:
    """The library `aiohttp`. It sends no fragments."""

    def __init__(self, connection):
        self.connection = connection
        self.transport = connection

    @classmethod
    @asynccontextmanager
    async def connect(cls, url, tls, headers, origin):
        try:
            async with aiohttp.ClientSession() as session, session.ws_connect(
                    url, ssl=tls or True, headers=headers, origin=origin, max_msg_size=0, autoping=False) as connection:
                yield cls(connection)
        except aiohttp.WSServerHandshakeError as refused:
            raise Refused(refused.status) from refused

    async def say(self, message):
        if isinstance(message, bytes):
            await self.connection.send_bytes(message)
        else:
            await self.connection.send_str(message)

    async def hear(self):
        message = await self.connection.receive()
        if message.type is aiohttp.WSMsgType.CLOSE:
            return message.data, message.extra
        return json.loads(message.data)

    async def ping(self, payload):
        await self.connection.ping(payload)
        pong = await self.connection.receive()
        if (pong.type, pong.data) != (aiohttp.WSMsgType.PONG, payload):
            raise AssertionError("got %r for a pong" % (pong,))

    async def close(self, code, reason):
        await self.connection.close(code=code, message=reason.encode())
        return self.connection.close_code


def vanish(client):
    """Ends the connection of TCP, without a close."""
    client.transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


ALL = {"websockets": Websockets, "aiohttp": Aiohttp}
