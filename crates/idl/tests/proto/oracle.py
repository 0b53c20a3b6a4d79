"""What protobuf's own compiler (grpcio-tools) says of .proto files, beside what we say.

Reads lines from standard input, three words each: a file, the folders that imports are looked for in (with
colons between them), and a file with our descriptors, or `-` where the compiler has to refuse the file, too.
Prints what differs. With `?` in the third place it prints what the compiler says of the file.
"""

import difflib
import os
import sys
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from grpc_tools import protoc

BUILT_IN = os.path.join(os.path.dirname(protoc.__file__), "_proto")
FIELDS = "google.protobuf.FileDescriptorSet"


def compile(path, folders, target):
    """Runs the compiler; returns what it says, or None if it is content."""
    arguments = ["protoc", "--include_imports", "--include_source_info", "--retain_options"]
    arguments += [f"-I{folder}" for folder in folders + [BUILT_IN]]
    with tempfile.TemporaryFile() as said:
        # In a process of its own: some wrong files make the compiler abort.
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            os._exit(protoc.main(arguments + [f"--descriptor_set_out={target}", path]))
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return said.read().decode() or "aborted" if status else None


def parse(data, pool):
    try:
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(FIELDS))
    except KeyError:
        kind = descriptor_pb2.FileDescriptorSet
    return kind.FromString(data)


def lines(file):
    """A descriptor as text; the order of places says nothing."""
    places = sorted(file.source_code_info.location, key=lambda place: (list(place.path), list(place.span)))
    copies = [type(place).FromString(place.SerializeToString()) for place in places]
    del file.source_code_info.location[:]
    # One line for each place is enough to find it.
    said = [text_format.MessageToString(place, as_one_line=True) for place in copies]
    return text_format.MessageToString(file).splitlines() + said


def compare(theirs, ours):
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(theirs).file:
        try:
            pool.Add(file)
        except TypeError:
            # Python is stricter than the compiler; options of the file's own are then not compared.
            pool = descriptor_pool.DescriptorPool()
            break
    theirs, ours = parse(theirs, pool), parse(ours, pool)
    ours = {file.name: file for file in ours.file}
    differences = []
    for file in theirs.file:
        # What is built in has its own comments, and is compared elsewhere.
        if file.name.startswith("google/protobuf/") and len(theirs.file) > 1 and file.name != theirs.file[-1].name:
            continue
        own = ours.get(file.name)
        if own is None:
            differences.append(f"{file.name} is missing")
            continue
        diff = difflib.unified_diff(lines(file), lines(own), "protoc", "ours", n=2, lineterm="")
        differences += list(diff)[:60]
    return differences


def main():
    wrong = 0
    for line in sys.stdin:
        path, folders, ours = line.split()
        with tempfile.TemporaryDirectory() as scratch:
            target = os.path.join(scratch, "set")
            refused = compile(path, folders.split(":"), target)
            if ours == "?":
                print(refused or "", end="")
                found = []
            elif ours == "-":
                found = [] if refused else ["the compiler takes it"]
            elif refused:
                found = ["the compiler refuses it: " + refused]
            else:
                with open(target, "rb") as theirs, open(ours, "rb") as own:
                    found = compare(theirs.read(), own.read())
        if found:
            wrong += 1
            print(f"── {path}\n" + "\n".join(found))
    sys.exit(1 if wrong else 0)


main()
