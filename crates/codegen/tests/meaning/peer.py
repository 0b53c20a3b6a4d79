"""Gives each line of `cases.txt` the bytes that protobuf's own library writes.

A line is `Message input output`, JSON without spaces, or bytes in hex, `-` for none: the library reads the input and
writes the output, `!` where it refuses the input. Needs the packages `protobuf` and `grpcio-tools`.
"""

import importlib
import json
import pathlib
import sys
import tempfile

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from grpc_tools import protoc
import grpc_tools

here = pathlib.Path(__file__).parent
contract = here.parent / "golden" / "meaning"
folder = tempfile.mkdtemp()
known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
if protoc.main(["", f"-I{contract}", f"-I{known}", f"--python_out={folder}", "input.proto"]):
    sys.exit("the compiler refuses the contract")
sys.path.insert(0, folder)
messages = importlib.import_module("input_pb2")


def written(name, given):
    message = getattr(messages, name)()
    try:
        if given.startswith("{"):
            json_format.Parse(given, message, ignore_unknown_fields=True)
            return json.dumps(json_format.MessageToDict(message), separators=(",", ":"))
        message.ParseFromString(bytes.fromhex(given.strip("-")))
    except (DecodeError, json_format.ParseError):
        return "!"
    return message.SerializeToString(deterministic=True).hex() or "-"


cases = here / "cases.txt"
lines = []
for line in cases.read_text().splitlines():
    if line and not line.startswith("#"):
        name, given, *_ = line.split()
        line = f"{name} {given} {written(name, given)}"
    lines.append(line)
cases.write_text("\n".join(lines) + "\n")
