"""What the callers have in common: rows come in, and what each gets goes out."""

import json
import sys

# The package and the service of the example.
SERVICE = "shop.Orders"


def run(call):
    """Calls with each row; `call` is given wire, port, token and method."""
    wire, port = sys.argv[1], int(sys.argv[2])
    print(json.dumps([call(wire, port, token, method) for token, method in json.load(sys.stdin)]))


# The codes of refusals, as the rows have them.
CODES = ("unauthenticated", "permission_denied", "resource_exhausted")


def code_in(text):
    """The code whose name is in a text; the text itself without one."""
    return next((code for code in CODES if code.upper() in text), text)


def later(code, pushback):
    """A code, and that the answer says when to try again."""
    return code + ", later" if pushback is not None and int(pushback) > 0 else code
