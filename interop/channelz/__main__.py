"""A server and its connections, as gRPC's own library for channelz sees them.

    python3 interop/channelz PROGRAM      # PROGRAM is the example shop

Calls come over gRPC and in JSON: channelz shows the connections of all wires.
"""

import http.client
import ipaddress
import json
import pathlib
import sys
import time

import grpc
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from shop import Shop

SECONDS = 20
ADA = "Bearer ada-has-a-long-secret"


def check(what, found, expected):
    if found != expected:
        raise SystemExit("%s: %r, and not %r" % (what, found, expected))


def refused(what, ask):
    try:
        ask()
    except grpc.RpcError as error:
        return check(what, error.code(), grpc.StatusCode.NOT_FOUND)
    raise SystemExit("%s is answered" % what)


def in_json(connection, method, parameters):
    connection.request("POST", "/shop.Orders/%s" % method, json.dumps(parameters),
                       {"Content-Type": "application/json", "Authorization": ADA})
    connection.getresponse().read()


def over_grpc(channel, method):
    call = channel.unary_unary("/shop.Orders/%s" % method, request_serializer=bytes, response_deserializer=bytes)
    call(b"", metadata=[("authorization", ADA)], timeout=SECONDS)


def watched(shop, channelz, channel):
    connection = http.client.HTTPConnection("127.0.0.1", int(shop.port), timeout=SECONDS)
    in_json(connection, "place", {"item": "lamp", "count": 2})
    in_json(connection, "place", {"item": "lamp", "count": 0})
    for _ in range(3):
        over_grpc(channel, "all")
    own = connection.sock.getsockname()

    end = time.monotonic() + SECONDS
    while True:
        servers = channelz.GetServers(channelz_pb2.GetServersRequest())
        data = servers.server[0].data
        calls = (data.calls_started, data.calls_succeeded, data.calls_failed)
        if calls == (5, 4, 1) or time.monotonic() > end:
            break
        time.sleep(0.05)
    check("the calls of the server", calls, (5, 4, 1))
    check("servers", (len(servers.server), servers.end), (1, True))
    server = servers.server[0].ref.server_id
    one = channelz.GetServer(channelz_pb2.GetServerRequest(server_id=server))
    check("the server by its number", one.server.ref.server_id, server)

    def page(start, most):
        return channelz.GetServerSockets(channelz_pb2.GetServerSocketsRequest(
            server_id=server, start_socket_id=start, max_results=most))

    first = page(0, 1)
    check("the first page of sockets", (len(first.socket_ref), first.end), (1, False))
    rest = page(first.socket_ref[0].socket_id + 1, 0)
    check("the last page of sockets", (len(rest.socket_ref), rest.end), (1, True))
    sockets = [
        channelz.GetSocket(channelz_pb2.GetSocketRequest(socket_id=ref.socket_id)).socket
        for ref in [*first.socket_ref, *rest.socket_ref]]
    seen = {}
    for socket in sockets:
        options = {option.name: option.value for option in socket.data.option}
        check("bytes of a socket", int(options["dovetail.received_bytes"]) > 100, True)
        address = socket.remote.tcpip_address
        check("an address", str(ipaddress.ip_address(address.ip_address)), "127.0.0.1")
        seen[options["dovetail.wire"]] = (socket.data.streams_started, address.port == own[1])
    check("the sockets", seen, {"connect+json": (2, True), "grpc": (3, False)})

    channels = channelz.GetTopChannels(channelz_pb2.GetTopChannelsRequest())
    check("channels of the shop, which calls nobody", (len(channels.channel), channels.end), (0, True))
    refused("a server that is not there", lambda: channelz.GetServer(channelz_pb2.GetServerRequest(server_id=99)))
    refused("a socket that is not there", lambda: channelz.GetSocket(channelz_pb2.GetSocketRequest(socket_id=10**9)))
    refused("a channel that is not there", lambda: channelz.GetChannel(channelz_pb2.GetChannelRequest(channel_id=10**9)))
    refused("a subchannel that is not there",
            lambda: channelz.GetSubchannel(channelz_pb2.GetSubchannelRequest(subchannel_id=10**9)))
    connection.close()


def main():
    shop = Shop(sys.argv[1])
    try:
        with grpc.insecure_channel("127.0.0.1:%s" % shop.admin) as admin, \
                grpc.insecure_channel("127.0.0.1:%s" % shop.port) as channel:
            watched(shop, channelz_pb2_grpc.ChannelzStub(admin), channel)
    finally:
        shop.stop()
    print("gRPC's channelz shows the server, five calls and both connections")


if __name__ == "__main__":
    main()
