"""websockets: the token is in a header of the handshake, as browsers cannot send it, and then in the first message, as they can."""

import asyncio
import json

import websockets
from rows import SERVICE, handle_in, later, run

PARAMETERS = {"place": {"item": "lamp", "count": 1}, "broken": {"item": 1, "count": "lamp"}, "all": {}, "find": {"id": 1}}


async def called(port, token, method, in_message):
    name = "place" if method == "broken" else method
    headers = {"Authorization": "Bearer " + token} if token else {}
    url = "ws://127.0.0.1:%d/%s/%s" % (port, SERVICE, name)
    sent = None if in_message else headers
    async with websockets.connect(url, additional_headers=sent, proxy=None) as socket:
        if in_message and headers:
            await socket.send(json.dumps({"headers": headers}))
        await socket.send(json.dumps({"params": PARAMETERS[method]}))
        seen = "ok"
        async for text in socket:
            message = json.loads(text)
            if "ada" in text and "result" in message:
                seen = "ada"
            error = message.get("end", {}).get("error")
            if error:
                pushback = message["end"].get("metadata", {}).get("grpc-retry-pushback-ms", [None])
                seen = later(error["code"], pushback[0])
        return seen


def both(_, port, token, method):
    found = {asyncio.run(called(port, token, method, in_message)) for in_message in (False, True)}
    return found.pop() if len(found) == 1 else "in a header and in a message: %s" % found


class Caller:
    """A caller of the cart, with a connection for each call."""

    def __init__(self, _, port, token):
        self.port, self.headers = port, {"Authorization": "Bearer " + token}

    async def called(self, path, parameters):
        url = "ws://127.0.0.1:%d/%s" % (self.port, path)
        async with websockets.connect(url, proxy=None) as socket:
            await socket.send(json.dumps({"headers": self.headers}))
            await socket.send(json.dumps({"params": parameters}))
            said = ""
            async for text in socket:
                error = json.loads(text).get("end", {}).get("error")
                said += error["code"] if error else text
            return said

    def begin(self):
        return handle_in(asyncio.run(self.called("dovetail.Sessions/begin_session", {"service": "Cart"})))

    def resume(self, handle):
        self.headers["dovetail-session"] = handle

    def add(self, item):
        return asyncio.run(self.called("shop.Cart/add", {"item": item, "count": 1}))

    def close(self):
        pass


run(both, Caller)
