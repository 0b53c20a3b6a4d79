"""The running example shop, for tests by stock clients."""

import pathlib
import subprocess
import tempfile

SHOP = pathlib.Path(__file__).parent.parent / "examples" / "shop"


class Shop:
    """The shop on ports of its own, without TLS: what callers show is the same."""

    def __init__(self, program, model="event-loops", more="", tokens="", server=""):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        (folder / "tokens").write_text((SHOP / "tokens").read_text() + tokens)
        (folder / "shop.toml").write_text(config(model, server) + more)
        self.process = subprocess.Popen(
            [program, folder / "shop.toml"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = self.port_of("listening on tcp://")
        self.admin = self.port_of("administration on tcp://")

    def port_of(self, beginning):
        line = self.process.stdout.readline()
        if not line.startswith(beginning):
            raise SystemExit("the shop does not start: %r" % line)
        return line.strip().rsplit(":", 1)[1]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def config(model, server):
    """The configuration of the example in this model, with further keys of the server, and with neither TLS nor socket."""
    text = (SHOP / "shop.toml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("certificate", "key"))]
    text = "\n".join(lines).replace("[server.tls]\n", "").replace("../../target/shop/carts", "carts").replace(":9444", ":0")
    start, end = text.index("listen = "), text.index("]", text.index("listen = ")) + 1
    return text[:start] + 'listen = ["tcp://127.0.0.1:0"]\nmodel = "%s"\n%s' % (model, server) + text[end:]
