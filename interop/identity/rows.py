"""What the callers have in common: rows come in, and what each gets goes out."""

import json
import sys

# The package and the service of the example.
SERVICE = "shop.Orders"


def run(call):
    """Calls with each row; `call` is given wire, port, token and method."""
    wire, port = sys.argv[1], int(sys.argv[2])
    print(json.dumps([call(wire, port, token, method) for token, method in json.load(sys.stdin)]))


def code(name):
    """The name of a code as the rows have it."""
    return name.lower()
