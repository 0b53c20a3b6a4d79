"""The example shop, watched: what promtool, a Prometheus server and supervisors see of calls whose number is known.

    python3 interop/prometheus PROGRAM      # PROGRAM is the example shop

The expressions of docs/running.md and docs/grafana.json are asked as they stand there.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "interop"))

from ports import free_port
from shop import Shop

SECONDS = 30

# Token, method, parameters, how often, and the outcome as the metrics have it.
CALLS = [
    ("ada", "place", {"item": "lamp", "count": 1}, 3, "OK"),
    ("ada", "place", {"item": "lamp", "count": 100}, 2, "EXCEPTION"),
    ("ada", "place", {"item": "lamp", "count": 0}, 4, "INVALID_ARGUMENT"),
    ("bob", "place", {"item": "lamp", "count": 1}, 5, "PERMISSION_DENIED"),
    ("bob", "all", {}, 6, "OK"),
    ("nobody", "all", {}, 7, "UNAUTHENTICATED"),
]


def check(what, found, expected):
    if found != expected:
        raise SystemExit("%s: %r, and not %r" % (what, found, expected))


def call(shop, who, method, parameters):
    request = urllib.request.Request(
        "http://127.0.0.1:%s/shop.Orders/%s" % (shop.port, method), json.dumps(parameters).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer %s-has-a-long-secret" % who})
    try:
        urllib.request.urlopen(request, timeout=SECONDS).read()
    except urllib.error.HTTPError as refused:
        refused.read()


def get(shop, path):
    with urllib.request.urlopen("http://127.0.0.1:%s%s" % (shop.admin, path), timeout=SECONDS) as answer:
        return answer.read().decode()


class Prometheus:
    """Debian's server, which scrapes the shop."""

    def __init__(self, shop, folder):
        text = yaml_of_the_page().replace("127.0.0.1:9444", "127.0.0.1:%s" % shop.admin).replace("5s", "1s")
        (folder / "prometheus.yml").write_text(text)
        self.port = free_port()
        self.process = subprocess.Popen(
            ["prometheus", "--config.file", folder / "prometheus.yml", "--storage.tsdb.path", folder / "data",
             "--web.listen-address", "127.0.0.1:%d" % self.port],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait_until_ready(self):
        """Waits for the server to answer questions; while it starts, it does not listen at first, and then refuses them."""
        end = time.monotonic() + SECONDS
        while True:
            try:
                return urllib.request.urlopen("http://127.0.0.1:%d/-/ready" % self.port, timeout=SECONDS).close()
            except OSError as refused:
                if time.monotonic() > end:
                    raise SystemExit("Prometheus does not start: %s" % refused) from None
            time.sleep(0.1)

    def ask(self, query):
        url = "http://127.0.0.1:%d/api/v1/query?%s" % (self.port, urllib.parse.urlencode({"query": query}))
        try:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as refused:
            raise SystemExit("%s: %s" % (query, refused.read().decode())) from None

    def wait(self, query, value):
        end = time.monotonic() + SECONDS
        found = None
        while time.monotonic() < end:
            result = self.ask(query)
            found = float(result[0]["value"][1]) if result else None
            if found == value:
                return
            time.sleep(0.2)
        raise SystemExit("%s: %r, and not %r" % (query, found, value))


def yaml_of_the_page():
    page = (ROOT / "docs" / "running.md").read_text()
    return re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1]


def expressions():
    """The questions of the page, and those of the dashboard."""
    page = (ROOT / "docs" / "running.md").read_text()
    found = re.findall(r"\| `([^`]*dovetail_server[^`]*)` \|", page)
    board = json.loads((ROOT / "docs" / "grafana.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            found.append(target["expr"].replace("$__rate_interval", "1m").replace("$job", ".*"))
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shop = Shop(sys.argv[1])
        prometheus = Prometheus(shop, folder)
        try:
            prometheus.wait_until_ready()
            for who, method, parameters, times, _ in CALLS:
                for _ in range(times):
                    call(shop, who, method, parameters)
            check("/health", get(shop, "/health"), "ok\n")
            check("/ready", get(shop, "/ready"), "ready\n")
            linted = subprocess.run(
                ["promtool", "check", "metrics"], input=get(shop, "/metrics"), capture_output=True, text=True)
            check("promtool", (linted.returncode, linted.stdout + linted.stderr), (0, ""))
            for _, method, _, times, code in CALLS:
                labels = 'service="shop.Orders", method="%s", wire="connect+json", code="%s"' % (method, code)
                prometheus.wait("dovetail_server_ended_calls_total{%s}" % labels, times)
            prometheus.wait('dovetail_server_call_duration_seconds_count{method="place"}', 14)
            prometheus.wait('sum(dovetail_server_calls_in_flight)', 0)
            # A rate needs two scrapes.
            time.sleep(2)
            asked = expressions()
            for expression in asked:
                if not prometheus.ask(expression):
                    raise SystemExit("%s: nothing" % expression)
        finally:
            prometheus.process.kill()
            prometheus.process.wait()
            shop.stop()
    print("Prometheus has the numbers of %d calls, and answers %d expressions" % (sum(call[3] for call in CALLS), len(asked)))


if __name__ == "__main__":
    main()
