"""The WebSocket peer: two libraries for Python that know nothing of calls, spoken to through the common command line."""

import argparse
import asyncio
import json
import os
import ssl
import sys

import cases
import clients

SECONDS = 60
SCHEMES = {"http": "ws", "tls": "wss"}


def certificate(name):
    return os.path.join(os.environ["INTEROP_CERTIFICATES"], name)


def tls(options):
    if options.transport == "http":
        return None
    context = ssl.create_default_context(cafile=certificate("ca.pem"))
    context.load_cert_chain(certificate("peer.pem"), certificate("peer.key"))
    return context


def connector(options, client):
    """What connects to a method, with some headers and as a page of some site."""
    context = tls(options)

    def connect(method, headers=None, origin=None):
        url = "%s://%s/%s" % (SCHEMES[options.transport], options.address, method)
        return client.connect(url, context, headers or {}, origin)

    return connect


def run(case, connect):
    """How a case ended, and why."""
    try:
        asyncio.run(asyncio.wait_for(case(connect), SECONDS))
        return "ok", ""
    except Exception as error:  # whatever the library throws is the finding
        return "fail", "%s: %s" % (type(error).__name__, error)


def run_client(options):
    failed = False
    for library, client in clients.ALL.items():
        connect = connector(options, client)
        for name, case in cases.of(client).items():
            name = "%s/%s" % (library, name)
            if options.case and name != options.case:
                continue
            result, detail = run(case, connect)
            failed |= result == "fail"
            print(json.dumps({"case": name, "result": result, "detail": detail[:300]}), flush=True)
    sys.exit(1 if failed else 0)


def capabilities():
    return [{"protocol": "websocket", "transport": transport, "multiplexed": False, "roles": ["client"],
             "unix": False} for transport in SCHEMES]


def main():
    parser = argparse.ArgumentParser(prog="websocket-peer")
    commands = parser.add_subparsers(dest="command", required=True)
    client = commands.add_parser("client")
    client.add_argument("--protocol", choices=("websocket",), default="websocket")
    client.add_argument("--transport", choices=SCHEMES, default="http")
    client.add_argument("--address", required=True)
    client.add_argument("--case")
    commands.add_parser("capabilities")
    options = parser.parse_args()
    if options.command == "capabilities":
        print(json.dumps(capabilities(), indent=1))
    else:
        run_client(options)


if __name__ == "__main__":
    main()
