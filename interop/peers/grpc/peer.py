"""The gRPC peer: gRPC's own library for Python, spoken to through the common command line."""

import argparse
import json
import os
import sys
import threading
from concurrent import futures

import cases
import grpc
from handler import Calls, Mapped, Second, UuidService
from calls_pb2_grpc import add_CallsServicer_to_server
from derived_pb2_grpc import add_SecondServicer_to_server, add_UuidServiceServicer_to_server
from grpc_health.v1.health import HealthServicer
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from grpc_reflection.v1alpha.reflection import enable_server_reflection
from mapped_pb2_grpc import add_MappedServicer_to_server


def capabilities():
    def entry(transport, unix):
        return {"protocol": "grpc", "transport": transport, "multiplexed": False,
                "roles": ["client", "server"], "unix": unix}

    return [entry("buffered", True), entry("tls", False)]


def certificates():
    """The root, the key and the certificate: both ends show one, and trust the same root."""
    def read(name):
        with open(os.path.join(os.environ["INTEROP_CERTIFICATES"], name), "rb") as file:
            return file.read()

    return read("ca.pem"), read("peer.key"), read("peer.pem")


def exit_with_stdin():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


LARGE = [("grpc.max_receive_message_length", 1 << 26)]


def serve(options):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), options=LARGE)
    add_CallsServicer_to_server(Calls(), server)
    add_MappedServicer_to_server(Mapped(), server)
    add_SecondServicer_to_server(Second(), server)
    add_UuidServiceServicer_to_server(UuidService(), server)
    statuses = HealthServicer()
    for service in ("", "calls.v1.Calls"):
        statuses.set(service, HealthCheckResponse.SERVING)
    add_HealthServicer_to_server(statuses, server)
    enable_server_reflection(("calls.v1.Calls", "mapped.Mapped"), server)
    if options.transport == "tls":
        root, key, chain = certificates()
        credentials = grpc.ssl_server_credentials([(key, chain)], root, require_client_auth=True)
        port = server.add_secure_port(options.address, credentials)
    else:
        port = server.add_insecure_port(options.address)
    server.start()
    if options.address.startswith("unix:"):
        address = options.address
    else:
        address = "%s:%d" % (options.address.rsplit(":", 1)[0], port)
    threading.Thread(target=exit_with_stdin, daemon=True).start()
    print("READY " + address, flush=True)
    server.wait_for_termination()


def connect(options):
    if options.transport == "tls":
        credentials = grpc.ssl_channel_credentials(*certificates())
        return grpc.secure_channel(options.address, credentials, options=LARGE)
    return grpc.insecure_channel(options.address, options=LARGE)


def run_client(options):
    failed = False
    for name, case in cases.CASES.items():
        if options.case and name != options.case:
            continue
        try:
            with connect(options) as channel:
                detail = case(channel)
            result = "ok"
        except Exception as error:  # whatever the library throws is the finding
            result, detail = "fail", "%s: %s" % (type(error).__name__, error)
            failed = True
        line = {"case": name, "result": result, "detail": (detail or "")[:300]}
        print(json.dumps(line), flush=True)
    sys.exit(1 if failed else 0)


def main():
    parser = argparse.ArgumentParser(prog="grpc-peer")
    commands = parser.add_subparsers(dest="command", required=True)
    for role in ("server", "client"):
        sub = commands.add_parser(role)
        sub.add_argument("--protocol", choices=("grpc",), default="grpc")
        sub.add_argument("--transport", choices=("buffered", "tls"), default="buffered")
        sub.add_argument("--address", required=True)
        if role == "client":
            sub.add_argument("--case")
    commands.add_parser("capabilities")
    options = parser.parse_args()
    if options.command == "capabilities":
        print(json.dumps(capabilities(), indent=1))
    elif options.command == "server":
        serve(options)
    else:
        run_client(options)


if __name__ == "__main__":
    main()
