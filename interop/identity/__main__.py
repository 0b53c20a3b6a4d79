"""Calls the example shop with stock clients: who they are, what becomes of their calls, what they are told beyond their quotas, and sessions.
The statistics of the shop have each call by its method, wire and outcome.

    python3 interop/identity PROGRAM PEERS            # on every wire, in every model
    python3 interop/identity PROGRAM PEERS --model pool

PROGRAM is the example shop, PEERS the folder where `cargo xtask peers` builds. Each wire has a caller of its own, a program for the Python that has
its library; it is given what the callers show, and prints what each gets.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from rows import THIEF
from shop import Shop

SECONDS = 60

MODELS = {
    "loops": "event-loops", "threads": "thread-per-connection", "pool": "thread-pool", "single": "single-threaded",
}

# Token, method, and its answer. The last two have a body that nobody can decode: it is not looked at before the permission is.
ROWS = [
    ("", "place", "unauthenticated"),
    ("wrong", "place", "unauthenticated"),
    ("bob-has-a-long-secret", "place", "permission_denied"),
    ("ada-has-a-long-secret", "place", "ada"),
    # Ada's order is among them.
    ("bob-has-a-long-secret", "all", "ada"),
    ("bob-has-a-long-secret", "broken", "permission_denied"),
    ("", "broken", "unauthenticated"),
]

# Calls with a message of which most is never sent, on the wires whose clients can stop.
LARGE = [("bob-has-a-long-secret", "large", "permission_denied"), ("", "large", "unauthenticated")]
STOPS = {"grpc", "json", "json over HTTP/2", "grpc-web"}

# Quotas for a caller of its own on each wire: it may place two orders and begin a session a second, and nobody may find or list orders, or
# fill a cart.
QUOTAS = """
[quotas.test-rate]
place = "shop.Orders/place"
each-caller = true
rate = "1/h"
burst = 2

[quotas.test-in-flight]
place = "shop.Orders/find"
in-flight = 0

[quotas.test-queue]
place = "shop.Orders/all"
in-flight = 0
queue = 1
queue-time = "5ms"

[quotas.test-message]
place = "shop.Cart/add"
message = 1

[quotas.test-bytes]
place = "dovetail.Sessions/begin_session"
each-caller = true
bytes = 1
"""
# By the bytes of a message, and by those of all in a second.
REFUSED_BY_SIZE = [("cart without a session, too large", "resource_exhausted"), ("cart, bytes", "resource_exhausted")]
# A session over two connections, and those that a caller cannot use.
CARTS = [
    ("cart", "lamp, bulb"), ("cart, stolen", "permission_denied"), ("cart, guessed", "not_found"), ("cart, without a session", "failed_precondition"),
]
# By its rate, by the calls in flight, and by the time in the queue.
REFUSED = [("place", "resource_exhausted"), ("find", "resource_exhausted"), ("all", "resource_exhausted")]
# The wires whose stock clients show when to try again.
SHOWS_LATER = {"grpc", "websocket", "json", "json by GET", "json over HTTP/2", "grpc-web"}

# Wire, the peer whose Python has the library, the caller, and the models that have the wire.
EVERY = list(MODELS)
HTTP2 = ["loops", "pool", "single"]
CALLERS = [
    ("grpc", "grpc", "by_grpc.py", HTTP2),
    ("binary", "python", "by_thrift.py", EVERY),
    ("binary+framed", "python", "by_thrift.py", EVERY),
    ("compact+framed", "python", "by_thrift.py", EVERY),
    ("binary+header", "python", "by_thrift.py", EVERY),
    ("compact+header", "python", "by_thrift.py", EVERY),
    ("binary+http", "python", "by_thrift.py", EVERY),
    ("msgpack-rpc", "python", "by_msgpack.py", EVERY),
    ("websocket", "websocket", "by_websocket.py", EVERY),
    ("json", None, "by_curl.py", EVERY),
    ("json by GET", None, "by_curl.py", EVERY),
    ("json over HTTP/2", None, "by_curl.py", HTTP2),
    ("grpc-web", None, "by_curl.py", EVERY),
    ("neovim", None, "by_neovim.py", EVERY),
]


def python(peers, peer):
    return sys.executable if peer is None else str(pathlib.Path(peers) / peer / "build" / "venv" / "bin" / "python")


# The labels of wires in the statistics, where they are others than here.
LABELS = {
    "json": "connect+json", "json by GET": "connect+json", "json over HTTP/2": "connect+json", "grpc-web": "grpc-web+json",
    "neovim": "msgpack-rpc",
}

# The wires without headers. Their clients log in first, and after a login that is refused they call nothing.
LOGS_IN = {"binary", "binary+framed", "compact+framed", "msgpack-rpc", "neovim"}


def counted(shop):
    """The calls of the orders that have ended, by wire and outcome."""
    url = "http://127.0.0.1:%s/metrics" % shop.admin
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        text = answer.read().decode()
    ended = r'dovetail_server_ended_calls_total{service="shop.Orders",method="\w+",wire="([^"]+)",code="(\w+)"} (\d+)'
    counts = collections.Counter()
    for wire, code, calls in re.findall(ended, text):
        counts[wire, code.lower()] += int(calls)
    return counts


def miscounted(shop, wire, before, rows, found):
    """What the statistics have of the calls of one caller that they should not have, or lack. A call may end after its answer has left."""
    # The caller by WebSocket makes each call with two clients.
    times = 2 if wire == "websocket" else 1
    expected = collections.Counter()
    for (token, *_), got in zip(rows, found, strict=True):
        if got != "cannot" and not (token == "wrong" and wire in LOGS_IN):
            expected[LABELS.get(wire, wire), "ok" if got == "ada" else got] += times
    end = time.monotonic() + SECONDS / 6
    while True:
        now = counted(shop) - before
        if now == expected:
            return []
        if time.monotonic() > end:
            return ["the statistics have %s, and not %s" % (dict(now), dict(expected))]
        time.sleep(0.05)


def check(shop, peers, wire, peer, caller, expected, counts):
    before = counted(shop)
    rows = json.dumps([[token, method] for token, method, _ in expected])
    command = [python(peers, peer), str(HERE / caller), wire, shop.port]
    ended = subprocess.run(command, input=rows, capture_output=True, text=True, timeout=SECONDS)
    if ended.returncode:
        return ["%s" % ended.stderr.strip()[-2000:]]
    found = json.loads(ended.stdout)
    wrong = [
        "%s with the token %r: %s, and not %s" % (method, token, got, wanted)
        for (token, method, wanted), got in zip(expected, found, strict=True)
        # A wire on which nothing can be broken says so.
        if got not in (wanted, "cannot")
    ]
    return wrong + (miscounted(shop, wire, before, expected, found) if counts and not wrong else [])


def secret(wire):
    return "%s-has-a-long-secret" % wire.replace(" ", "-")


def throttled(wire):
    """What the caller of a wire gets beyond its quotas."""
    later = ", later" if wire in SHOWS_LATER else ""
    # The caller by WebSocket places each order twice.
    orders = 1 if wire == "websocket" else 2
    refused = [(secret(wire), method, got + later) for method, got in REFUSED]
    refused += [(secret(wire), method, got) for method, got in REFUSED_BY_SIZE]
    return [(secret(wire), "place", "ok")] * orders + refused


def carts(wire):
    """What the caller of a wire gets for its carts."""
    return [(secret(wire), method, got) for method, got in CARTS]


def tokens():
    """A clerk for each wire, and a thief."""
    secrets = [secret(wire) for wire, *_ in CALLERS] + [THIEF]
    lines = ["%s %s clerk" % (secret, hashlib.sha256(secret.encode()).hexdigest()) for secret in secrets]
    return "\n".join(lines) + "\n"


def run(shop, model, peers, rows, counts):
    """Calls on all wires of a model, and `counts` whether the statistics have them. Gives the number of calls, and that of those which went wrong."""
    failed = count = 0
    try:
        for wire, peer, caller, models in CALLERS:
            if model not in models:
                continue
            expected = rows(wire)
            count += len(expected)
            for problem in check(shop, peers, wire, peer, caller, expected, counts):
                failed += 1
                print("%s, %s: %s" % (model, wire, problem))
    finally:
        shop.stop()
    return count, failed


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("peers")
    options.add_argument("--model", choices=MODELS)
    options = options.parse_args()
    os.environ["PYTHONPATH"] = str(HERE)
    failed = count = 0
    for model in [options.model] if options.model else MODELS:
        for shop, rows, counts in [
            (Shop(options.program, MODELS[model]), lambda wire: ROWS + LARGE * (wire in STOPS), True),
            (Shop(options.program, MODELS[model], QUOTAS, tokens()), throttled, False),
            (Shop(options.program, MODELS[model], tokens=tokens()), carts, False),
        ]:
            called, wrong = run(shop, model, options.peers, rows, counts)
            count, failed = count + called, failed + wrong
    print("%d calls of stock clients, %d failed" % (count, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
