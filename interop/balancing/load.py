"""A channel of Dovetail to five servers, with 1,000 calls a second, over three wires, while the servers fare badly.

    python3 interop/balancing/load.py PROGRAM      # `examples/balancing`

`cargo xtask soak --only balancing` runs it. Each server is a process of its own, so that it can be killed and stopped.
"""

import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from ports import free_port

PROGRAM = sys.argv[1]
SERVERS = 5
WIRES = ["dovetail", "grpc", "binary+framed"]


class Servers:
    """Five servers, which end with this."""

    def __init__(self, *words):
        self.ports = [free_port() for _ in range(SERVERS)]
        self.words = [list(words) for _ in range(SERVERS)]
        self.running = {}

    def __enter__(self):
        for number in range(SERVERS):
            self.start(number)
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.kill()
            process.wait()

    def start(self, number):
        words = [PROGRAM, "serve", str(number), "--listen", "tcp://127.0.0.1:%d" % self.ports[number]] + self.words[number]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        self.running[number] = process

    def end(self, number, how):
        """Ends a server; returns what it says at the end."""
        process = self.running[number]
        process.send_signal(how)
        said, _ = process.communicate(timeout=60)
        return said

    def restart(self, number, how):
        self.end(number, how)
        self.start(number)

    def calls(self, wire, seconds, *words):
        """Starts the client; its list of servers is the ports of these."""
        name = ",".join("tcp://127.0.0.1:%d" % port for port in self.ports)
        words = [PROGRAM, "call", name, "--wire", wire, "--seconds", str(seconds)] + list(words)
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


class Outcome:
    """What the client says at its end."""

    def __init__(self, client):
        self.text, _ = client.communicate(timeout=120)
        self.failed = int(re.search(r"^failed: (\d+)", self.text, re.M).group(1))
        late = re.search(r"^after a second: \{(.*)\}, p95 (.*)$", self.text, re.M)
        pairs = [pair.split(": ") for pair in late.group(1).split(", ") if pair]
        self.late = {int(number): int(calls) for number, calls in pairs}
        time = re.search(r"([\d.]+)(ms|µs|s)", late.group(2))
        self.p95 = float(time.group(1)) * {"µs": 1e-3, "ms": 1, "s": 1e3}[time.group(2)] if time else 0

    def must(self, holds, what):
        if not holds:
            raise SystemExit("%s:\n%s" % (what, self.text))


def rolling_restart(wire):
    """All servers are ended and started again, one after another: no call fails, not even one that may not run twice."""
    results = []
    for kind in [[], ["--write"]]:
        with Servers("--delay", "2") as servers:
            client = servers.calls(wire, 8, *kind)
            time.sleep(1)
            for number in range(SERVERS):
                servers.restart(number, signal.SIGTERM)
                time.sleep(0.3)
            outcome = Outcome(client)
        outcome.must(outcome.failed == 0, "calls fail while servers restart")
        results.append(outcome.failed)
    return "%d and %d calls fail (idempotent, not)" % tuple(results)


def killed(wire):
    """A server is killed every five seconds: no idempotent call fails; others only if they may have run."""
    results = []
    for kind in [[], ["--write"]]:
        with Servers("--delay", "2") as servers:
            client = servers.calls(wire, 16, *kind)
            for number in range(3):
                time.sleep(4.5)
                servers.restart(number, signal.SIGKILL)
            outcome = Outcome(client)
        shown = [line for line in outcome.text.splitlines() if line.startswith("  ")]
        allowed = 0 if not kind else 3 * 20
        outcome.must(outcome.failed <= allowed, "calls fail while servers are killed")
        outcome.must(all("may have run" in line for line in shown), "a call fails that has not run")
        results.append(outcome.failed)
    return "%d idempotent calls fail, and %d others, which may have run" % tuple(results)


def slow(wire):
    """One server takes fifty times as long: it gets less than 0.3 % of the calls, and p95 is that of healthy servers."""
    with Servers("--delay", "2") as servers:
        healthy = Outcome(servers.calls(wire, 5))
    with Servers("--delay", "2") as servers:
        servers.words[2] = ["--delay", "100"]
        servers.restart(2, signal.SIGKILL)
        outcome = Outcome(servers.calls(wire, 5))
    share = outcome.late.get(2, 0) / sum(outcome.late.values())
    outcome.must(share < 0.003, "the slow server gets %.2f %% of the calls" % (share * 100))
    outcome.must(outcome.p95 < healthy.p95 * 1.5, "p95 is %.1f ms, that of healthy servers %.1f" % (outcome.p95, healthy.p95))
    return "%.2f %% of the calls, p95 %.1f ms beside %.1f" % (share * 100, outcome.p95, healthy.p95)


def silent(wire):
    """One accepts connections and never answers: it is ejected, and no call fails. Least request would hardly try it."""
    with Servers("--delay", "2") as servers, socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        servers.end(3, signal.SIGKILL)
        servers.ports[3] = listener.getsockname()[1]
        outcome = Outcome(servers.calls(wire, 6, "--attempt", "200", "--policy", "round_robin"))
    outcome.must(outcome.failed == 0, "calls fail beside a server that never answers")
    return "no call fails; the server is %s" % ejected(outcome, servers.ports[3])


def unreachable(wire):
    """One has a listener whose backlog is full, so that connecting to it never ends: the others get all calls."""
    with Servers("--delay", "2") as servers, socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        servers.end(3, signal.SIGKILL)
        servers.ports[3] = listener.getsockname()[1]
        filling = [socket.socket() for _ in range(4)]
        for caller in filling:
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        outcome = Outcome(servers.calls(wire, 4, "--policy", "round_robin"))
        for caller in filling:
            caller.close()
    outcome.must(outcome.failed == 0, "calls fail beside a server that cannot be reached")
    return "no call fails; the server is %s" % ejected(outcome, servers.ports[3])


def stopped(wire):
    """A server stops in the middle, its connections open: calls go elsewhere after their attempt, and it is ejected."""
    with Servers("--delay", "2") as servers:
        client = servers.calls(wire, 6, "--attempt", "200", "--policy", "round_robin")
        time.sleep(2)
        servers.running[1].send_signal(signal.SIGSTOP)
        outcome = Outcome(client)
    outcome.must(outcome.failed == 0, "calls fail when a server stops")
    return "no call fails; the server is %s" % ejected(outcome, servers.ports[1])


def ejected(outcome, port):
    """Checks that the server at a port is ejected, or that no connection to it is ready; returns what the client says of it."""
    state, picks = re.search(r":%d: (.*), (\d+) picks" % port, outcome.text).groups()
    outcome.must("ejected" in state or not state.startswith("Ready"), "a server that does not answer gets calls")
    return "%s after %s calls" % (state.lower(), picks)


def refusing(wire):
    """All servers fail all calls: retries add at most a tenth to their load."""
    with Servers("--refuse") as servers:
        outcome = Outcome(servers.calls(wire, 5))
        answered = [servers.end(number, signal.SIGTERM) for number in range(SERVERS)]
    answered = sum(int(said.split()[-1]) for said in answered)
    offered = outcome.failed
    outcome.must(0 < answered <= offered * 1.1, "%d calls reach the servers, of %d" % (answered, offered))
    return "%d attempts for %d calls" % (answered, offered)


SCENARIOS = [rolling_restart, killed, slow, silent, unreachable, stopped, refusing]


def main():
    for scenario in SCENARIOS:
        for wire in WIRES:
            print("%s, %s: %s" % (scenario.__name__.replace("_", " "), wire, scenario(wire)), flush=True)


main()
