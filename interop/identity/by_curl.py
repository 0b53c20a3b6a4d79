"""curl of Debian: JSON by POST and by GET, over HTTP/1.1 and HTTP/2, and gRPC-Web in JSON."""

import json
import re
import subprocess
import urllib.parse

from rows import LARGE, SERVICE, handle_in, later, run

BODIES = {
    "place": '{"item": "lamp", "count": 1}', "broken": '{"item": "lamp", "count": ', "all": "{}", "find": '{"id": 1}',
    "large": json.dumps({"item": LARGE.decode(), "count": 1}),
}
GRPC = {"5": "not_found", "9": "failed_precondition", "8": "resource_exhausted", "7": "permission_denied", "16": "unauthenticated", "0": "ok"}


def curl(*words, body=None):
    command = ["curl", "--silent", "--show-error", "--include", "--max-time", "20", *words]
    if body is not None:
        command += ["--data-binary", "@-"]
    ended = subprocess.run([*command, "--write-out", "%{stderr}%{size_upload}"], input=body, capture_output=True, check=True)
    if int(ended.stderr) > len(LARGE) // 2:
        raise ValueError("a body of %s bytes has been sent, though nobody takes it" % ended.stderr.decode())
    head, _, body = ended.stdout.partition(b"\r\n\r\n")
    head = head.decode().lower().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    return int(head[0].split(" ")[1]), headers, body


def call(wire, port, token, method):
    name = "place" if method in ("broken", "large") else method
    url = "http://127.0.0.1:%d/%s/%s" % (port, SERVICE, name)
    words = ["--header", "Authorization: Bearer " + token] if token else []
    if wire == "json over HTTP/2":
        words += ["--http2-prior-knowledge"]
    if method == "large":
        words += ["--header", "Expect: 100-continue"]
    body = BODIES[method].encode()
    if wire == "grpc-web":
        return by_grpc_web(words, url, body)
    if wire == "json by GET":
        if name == "place":
            # It changes something: no GET calls it.
            return "cannot"
        query = urllib.parse.urlencode({"encoding": "json", "message": BODIES[method]})
        status, headers, body = curl(*words, "%s?%s" % (url, query))
    else:
        status, headers, body = curl(*words, "--header", "Content-Type: application/json", url, body=body)
    if status == 401 and headers.get("www-authenticate") != "bearer":
        return "a 401 that does not say how"
    if "request-number" not in headers:
        return "no header of the interceptor: %s" % headers
    answer = json.loads(body)
    if status == 200:
        return "ada" if b"ada" in body else "ok"
    expected = {401: "unauthenticated", 403: "permission_denied", 429: "resource_exhausted"}.get(status)
    if answer["code"] != expected:
        return "%d %s" % (status, answer)
    return later(expected, headers.get("retry-after"))


def by_grpc_web(words, url, body):
    kind = "application/grpc-web+json"
    framed = b"\0" + len(body).to_bytes(4, "big") + body
    _, headers, body = curl(*words, "--header", "Content-Type: " + kind, url, body=framed)
    found = grpc_status(headers, body)
    pushback = re.search(rb"grpc-retry-pushback-ms: *(\d+)", body)
    found = later(found, headers.get("grpc-retry-pushback-ms", pushback and pushback[1]))
    return "ada" if found == "ok" and b"ada" in body else found


def grpc_status(headers, body):
    trailers = body.rpartition(b"grpc-status:")[2]
    status = headers.get("grpc-status") or trailers.strip().split(b"\r\n")[0].strip().decode()
    return GRPC.get(status, status)


class Caller:
    """A caller of the cart."""

    def __init__(self, wire, port, token):
        self.wire, self.port = wire, port
        self.words = ["--header", "Authorization: Bearer " + token]
        if wire == "json over HTTP/2":
            self.words += ["--http2-prior-knowledge"]

    def call(self, path, **parameters):
        url, body = "http://127.0.0.1:%d/%s" % (self.port, path), json.dumps(parameters).encode()
        if self.wire == "grpc-web":
            kind, body = "application/grpc-web+json", b"\0" + len(body).to_bytes(4, "big") + body
        else:
            kind = "application/json"
        _, headers, body = curl(*self.words, "--header", "Content-Type: " + kind, url, body=body)
        if self.wire == "grpc-web":
            status = grpc_status(headers, body)
            return body.decode("latin-1") if status == "ok" else status
        body = body.decode()
        return json.loads(body)["code"] if '"code"' in body else body

    def begin(self):
        return handle_in(self.call("dovetail.Sessions/begin_session", service="Cart"))

    def resume(self, handle):
        self.words += ["--header", "dovetail-session: " + handle]

    def add(self, item):
        return self.call("shop.Cart/add", item=item, count=1)

    def close(self):
        pass


run(call, Caller)
