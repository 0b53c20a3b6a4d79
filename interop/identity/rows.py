"""What the callers have in common: rows come in, and what each gets goes out."""

import json
import re
import sys

# The package and the service of the example.
SERVICE = "shop.Orders"

# A message that a server need not take before it knows who sends it, of nearly the largest size that the example takes.
LARGE = b"x" * (1000 << 10)


def run(call, connect):
    """Calls with each row; `call` is given wire, port, token and method.

    `connect` is given wire, port and token. It returns a caller of its own connection, with the methods `begin`, which returns the handle of a
    session or a code, `resume` with a handle, `add` with an item, which returns a text with all items or a code, and `close`.
    """
    wire, port = sys.argv[1], int(sys.argv[2])
    print(json.dumps([
        cart(lambda token: connect(wire, port, token), token, method) if method.startswith("cart") else call(wire, port, token, method)
        for token, method in json.load(sys.stdin)
    ]))


def cart(connect, token, method):
    """Fills a cart over two connections, or tries what it may not."""
    callers = [connect(token), connect(THIEF if "stolen" in method else token)]
    try:
        first, second = callers
        if "bytes" in method:
            first.begin()
            return second.begin()
        if "without" not in method:
            handle = first.begin()
            first.resume(handle)
            first.add("lamp")
            refused = second.resume("0123456789abcdef" * 2 if "guessed" in method else handle)
            if refused:
                return refused
        return items(second.add("bulb"))
    finally:
        for caller in callers:
            caller.close()


def items(text):
    """The items whose names are in an answer; the answer itself without any."""
    return ", ".join(item for item in ("lamp", "bulb") if item in text) or text


def handle_in(answer):
    """The handle of a session in an answer; the answer itself without one."""
    found = re.search(r"[0-9a-f]{32}", answer)
    return found[0] if found else code_in(answer)


# The codes of refusals, as the rows have them.
CODES = ("unauthenticated", "permission_denied", "resource_exhausted", "not_found", "failed_precondition")

# Another clerk than the one who has begun a session.
THIEF = "thief-has-a-long-secret"


def code_in(text):
    """The code whose name is in a text; the text itself without one."""
    return next((code for code in CODES if code.upper() in text), text)


def later(code, pushback):
    """A code, and that the answer says when to try again."""
    return code + ", later" if pushback is not None and int(pushback) > 0 else code
