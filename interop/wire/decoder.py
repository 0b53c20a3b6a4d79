#!/usr/bin/env python3
"""A reference decoder of Dovetail's wire, written from docs/spec/wire.md and docs/spec/encoding.md alone."""

import argparse
import json
import sys
from pathlib import Path
from typing import Iterable, Iterator

from contract import describe, fingerprint, load
from conversation import Conversation
from state import Json

CONTRACT = """\
{"types": {"Colour": {"enum": {"RED": 1, "BLUE": 2}},
           "Point": {"struct": ["1: i32 x", "2: optional list<Colour> colours"]},
           "Refused": {"exception": ["1: required string why"]}},
 "methods": [{"service": "Calc", "name": "add", "parameters": ["1: i32 a", "2: i32 b"], "result": "i32",
              "exceptions": ["1: Refused refused"]},
             {"name": "log", "parameters": ["1: string line"], "oneway": true},
             {"name": "trace", "parameters": [], "caller_stream": {"item": "Point"},
              "callee_stream": {"item": "map<i8, Point>", "exceptions": ["1: Refused refused"]}}]}
"""

CAPTURE = """\
> d7445654 010000 01 00000000 01                # the client: the opening, and HELLO with its version
> 1a0000 02 00000000 00 0443616c63 03616464     # BIND of slot 0: flags, "Calc", "add",
>                    00000000000000000000000000000000              # and no fingerprint
> 060000 45 01000000 00 2404 2406 00            # CALL 1 of slot 0, tagged
< d7445654 010000 01 00000000 01                # the server: the same, then
< 020000 03 00000000 01 00                      # BOUND, compatible
< 040000 46 01000000 04000a00                   # REPLY 1, tagged
"""

OUTPUT = """\
{"from": "client", "kind": "CALL", "id": 1, "slot": 0, "service": "Calc", "method": "add", "frames": 1,
 "encoding": "tagged", "body": {"a": 2, "b": 3}}
{"from": "server", "kind": "REPLY", "id": 1, "service": "Calc", "method": "add", "frames": 1,
 "encoding": "tagged", "body": {"result": 5}}
"""

HELP = f"""\
A contract, contract.json; or instead a file with the descriptions of methods in hex, one on each line:

{CONTRACT}
A capture, capture.txt. Its lines are in the order in which the bytes passed; where they end means nothing:

{CAPTURE}
decoder.py --contract contract.json capture.txt prints an object for each message, among them:

{OUTPUT}
binary is shown in hex, a map as a list of pairs, a field that the contract does not know under its id. What breaks a
rule is an "error", which names the rule's place; where it concerns the connection, decoding ends. The exit status is 1
if there was an error.

decoder.py --contract contract.json --fingerprints prints the description and the fingerprint of each method.
"""


def chunks(capture: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    senders = {">": "client", "<": "server"}
    for line in capture:
        line = line.split("#")[0].strip()
        if line and line[0] not in senders:
            raise ValueError(f'"{line}" begins neither with > nor with <')
        if line:
            yield senders[line[0]], bytes.fromhex(line[1:])


def decode(capture: Iterable[str], contract: str = "") -> Iterator[Json]:
    conversation = Conversation(load(contract))
    for sender, data in chunks(capture):
        yield from conversation.feed(sender, data)
        if conversation.broken:
            return
    yield from conversation.finish()


def fingerprints(contract: str) -> Iterator[Json]:
    for method in load(contract):
        description = describe(method)
        yield {
            "method": method.name,
            "fingerprint": fingerprint(description).hex(),
            "description": description.hex(),
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--contract", type=Path, metavar="FILE", help="without it, fields are shown by their ids")
    parser.add_argument("--fingerprints", action="store_true", help="of the contract, instead of a capture")
    parser.add_argument("capture", nargs="?", type=argparse.FileType(), default="-", help="default: standard input")
    options = parser.parse_args()
    contract = options.contract.read_text() if options.contract else ""
    failed = False
    try:
        for message in fingerprints(contract) if options.fingerprints else decode(options.capture, contract):
            failed |= "error" in message
            print(json.dumps(message), flush=True)
    except ValueError as error:
        parser.error(str(error))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
