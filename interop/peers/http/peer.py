"""The HTTP peer: Python's own library for HTTP and its JSON, with nothing that knows calls, and curl where it is there."""

import argparse
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import urllib.parse

CASES = {}


def case(run):
    CASES[run.__name__] = run
    return run


def check(got, want):
    if got != want:
        raise AssertionError("got %.200r, want %.200r" % (got, want))


def post(connection, path, body, headers=None):
    """The status and the object that a call is answered with."""
    headers = {"Content-Type": "application/json", **(headers or {})}
    connection.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body), headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read() or b"null")


@case
def known_value(connection):
    status, value = post(connection, "/calls.v1.Calls/Known", {})
    check(status, 200)
    check(value["text"], "Grüße, 世界 🚀")
    check((value["large"], value["unsigned"]), ("-9223372036854775808", "18446744073709551615"))
    check((value["colour"], value["blob"]), ("BLUE", "AP8="))
    check(value["counts"], {"one": 1, "": 0})
    # On the same connection, as it came.
    check(post(connection, "/calls.v1.Calls/Echo", value), (200, value))


@case
def get(connection):
    query = urllib.parse.urlencode({"message": '{"text":"a+b c"}'})
    connection.request("GET", "/calls.v1.Calls/Echo?" + query)
    response = connection.getresponse()
    check((response.status, json.load(response)["text"]), (200, "a+b c"))


@case
def chunks(connection):
    pieces = iter([b'{"text"', b':"in ', b'pieces"}'])
    connection.request("POST", "/calls.v1.Calls/Echo", pieces, {"Content-Type": "application/json"}, encode_chunked=True)
    response = connection.getresponse()
    check((response.status, json.load(response)["text"]), (200, "in pieces"))


@case
def failures(connection):
    check(post(connection, "/calls.v1.Calls/Fail", {"code": 5, "message": "gone"}),
          (404, {"code": "not_found", "message": "gone"}))
    status, refused = post(connection, "/mapped.Mapped/fail", {"how": "refused"})
    check((status, refused["code"], refused["details"][0]["type"]), (500, "unknown", "mapped.Refused"))
    check("why" in refused["details"][0]["debug"], True)
    for path, body, headers, status in (
        ("/calls.v1.Calls/Nope", {}, {}, 404),
        ("/calls.v1.Calls/Echo", "{", {}, 400),
    ):
        got, failure = post(connection, path, body, headers)
        check((got, "code" in failure), (status, True))
    connection.request("POST", "/calls.v1.Calls/Echo", b"{}", {"Content-Type": "text/plain"})
    response = connection.getresponse()
    response.read()
    check(response.status, 415)


@case
def mapped(connection):
    check(post(connection, "/mapped.Mapped/add", {"left": 1, "right": 2}), (200, {"result": 3}))
    check(post(connection, "/mapped.Mapped/lengths", {"words": ["", "abc"], "doubled": True}),
          (200, {"result": {"": 0, "abc": 6}}))
    check(post(connection, "/mapped.Mapped/turn", {"pair": {"left": 1, "right": 2}}),
          (200, {"result": {"left": 2, "right": 1}}))
    check(post(connection, "/mapped.Mapped/nothing", {}), (200, {}))


@case
def derived(connection):
    """Methods of a service that is a trait of Rust."""
    check(post(connection, "/Second/greet", {"name": "Ada"}), (200, {"result": "hello, Ada"}))
    check(post(connection, "/Second/echo_i32", {"value": -5}), (200, {"result": 995}))


@case
def curl(connection):
    if not shutil.which("curl"):
        raise NotImplementedError("curl is not installed")
    address = "%s:%d/Second/greet" % (connection.host, connection.port)
    command = ["curl", "--silent", "--show-error", "--json", '{"name":"curl"}']
    if isinstance(connection, http.client.HTTPSConnection):
        files = {"--cacert": "ca.pem", "--cert": "peer.pem", "--key": "peer.key"}
        command += [word for flag, name in files.items() for word in (flag, certificate(name))]
        command.append("https://" + address)
    else:
        command.append("http://" + address)
    got = subprocess.run(command, check=True, capture_output=True, timeout=30).stdout
    check(json.loads(got), {"result": "hello, curl"})


def certificate(name):
    return os.path.join(os.environ["INTEROP_CERTIFICATES"], name)


def connect(options):
    host, port = options.address.rsplit(":", 1)
    if options.transport == "http":
        return http.client.HTTPConnection(host, int(port), timeout=30)
    context = ssl.create_default_context(cafile=certificate("ca.pem"))
    context.load_cert_chain(certificate("peer.pem"), certificate("peer.key"))
    return http.client.HTTPSConnection(host, int(port), timeout=30, context=context)


def capabilities():
    return [{"protocol": "connect-json", "transport": transport, "multiplexed": False, "roles": ["client"],
             "unix": False} for transport in ("http", "tls")]


def run_client(options):
    failed = False
    for name, run in CASES.items():
        if options.case and name != options.case:
            continue
        connection = connect(options)
        try:
            run(connection)
            result, detail = "ok", ""
        except NotImplementedError as reason:
            result, detail = "skip", str(reason)
        except Exception as error:  # whatever the library throws is the finding
            result, detail = "fail", "%s: %s" % (type(error).__name__, error)
            failed = True
        finally:
            connection.close()
        print(json.dumps({"case": name, "result": result, "detail": detail[:300]}), flush=True)
    sys.exit(1 if failed else 0)


def main():
    parser = argparse.ArgumentParser(prog="http-peer")
    commands = parser.add_subparsers(dest="command", required=True)
    client = commands.add_parser("client")
    client.add_argument("--protocol", choices=("connect-json",), default="connect-json")
    client.add_argument("--transport", choices=("http", "tls"), default="http")
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
