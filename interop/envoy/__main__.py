"""The example shop behind Envoy, with the cluster of docs/how-to/deploying.md as it stands there.

    python3 interop/envoy ENVOY SHOP        # the programs

Envoy finds the shop healthy, balances calls to it over HTTP/2, and passes others on as TCP, with the PROXY protocol. Once the
shop has ended, calls fail with 503.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "interop"))

from ports import free_port
from shop import Shop

SECONDS = 30

HTTP = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
TCP = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
PROXY = "type.googleapis.com/envoy.extensions.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport"
RAW = "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"


def address(port):
    return {"address": {"socket_address": {"address": "127.0.0.1", "port_value": int(port)}}}


def listener(port, name, settings):
    return {**address(port), "filter_chains": [{"filters": [{"name": name, "typed_config": settings}]}]}


def listeners(calls, wires):
    route = {"match": {"prefix": "/"}, "route": {"cluster": "orders", "timeout": "0s"}}
    hosts = [{"name": "all", "domains": ["*"], "routes": [route]}]
    http = {
        "@type": HTTP, "stat_prefix": "calls", "route_config": {"virtual_hosts": hosts},
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": ROUTER}}]}
    tcp = {"@type": TCP, "stat_prefix": "wires", "cluster": "wires"}
    return [listener(calls, "envoy.filters.network.http_connection_manager", http),
            listener(wires, "envoy.filters.network.tcp_proxy", tcp)]


def wires(shop):
    """The shop as a cluster for connections of any wire, which begin with the PROXY protocol."""
    raw = {"name": "envoy.transport_sockets.raw_buffer", "typed_config": {"@type": RAW}}
    proxy = {"@type": PROXY, "config": {"version": "V2"}, "transport_socket": raw}
    endpoints = [{"lb_endpoints": [{"endpoint": address(shop.port)}]}]
    return {
        "name": "wires", "type": "STATIC", "load_assignment": {"cluster_name": "wires", "endpoints": endpoints},
        "transport_socket": {"name": "envoy.transport_sockets.upstream_proxy_protocol", "typed_config": proxy}}


def cluster_of_the_page(shop):
    """The YAML of the page, indented as a part of a whole configuration."""
    page = (ROOT / "docs" / "how-to" / "deploying.md").read_text()
    text = re.search(r"```yaml\n(clusters:.*?)```", page, re.DOTALL)[1]
    own = "{address: 127.0.0.1, port_value: %s}" % shop.port
    text = text.replace("{address: orders, port_value: 9090}", own)
    return "".join("  %s\n" % line for line in text.splitlines())


def call(port, who="ada"):
    """Returns the status of a call."""
    request = urllib.request.Request(
        "http://127.0.0.1:%d/shop.Orders/place" % port, json.dumps({"item": "lamp", "count": 1}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer %s-has-a-long-secret" % who})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def wait(what, found, expected):
    end = time.monotonic() + SECONDS
    value = None
    while time.monotonic() < end:
        try:
            value = found()
        except OSError as problem:
            value = problem
        if value == expected:
            return
        time.sleep(0.1)
    raise SystemExit("%s: %r, and not %r" % (what, value, expected))


def main():
    envoy, program = sys.argv[1:]
    calls, others, admin = free_port(), free_port(), free_port()
    shop = Shop(program, server='proxies = ["127.0.0.1"]')
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "envoy.yaml"
        # JSON is YAML, too.
        file.write_text("admin: %s\nstatic_resources:\n  listeners: %s\n%s    - %s\n" % (
            json.dumps(address(admin)), json.dumps(listeners(calls, others)), cluster_of_the_page(shop), json.dumps(wires(shop))))
        process = subprocess.Popen([envoy, "-c", file, "--log-level", "error", "--concurrency", "1", "--use-dynamic-base-id"])
        try:
            def health():
                with urllib.request.urlopen("http://127.0.0.1:%d/clusters" % admin, timeout=SECONDS) as answer:
                    return re.findall(r"orders::\S+::health_flags::(\S+)", answer.read().decode())

            wait("the health of the shop", health, ["healthy"])
            for port, who, expected in [
                (calls, "ada", 200), (calls, "bob", 403), (others, "ada", 200), (others, "nobody", 401)]:
                wait("a call of %s" % who, lambda: call(port, who), expected)
            shop.stop()
            wait("a call without a shop", lambda: call(calls), 503)
        finally:
            process.kill()
            process.wait()
            shop.process.kill()
    print("Envoy balances calls to the shop, checks its health, and passes its wires on")


if __name__ == "__main__":
    main()
