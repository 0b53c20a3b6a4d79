"""A channel to the servers that a registry knows, and servers that register there, beside what stock programs do with the registry.

    python3 interop/registries PROGRAM ETCD      # PROGRAM is examples/balancing, ETCD is built from interop/registries/etcd

Calls run all the time, one each millisecond, and none may fail: while servers come, end, are killed and lose their leases, and while
the registry itself is killed and comes back.
"""

import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

PREFIX = "services/fleet"
# In seconds: registrations of servers that are killed.
TTL = 2
LONG = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, condition):
    """Waits for a condition, and returns the time."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > LONG:
            raise SystemExit("this did not happen within %d s: %s" % (LONG, what))
        time.sleep(0.05)
    took = time.monotonic() - began
    print("  %s: after %.2f s" % (what, took), flush=True)
    return took


class Etcd:
    """A server of etcd, and what stock clients do with it."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.member, self.peer = ("127.0.0.1:%d" % free_port() for _ in range(2))
        self.start()

    def start(self):
        client, peer = "http://" + self.member, "http://" + self.peer
        words = [self.program, "serve", "--data-dir", self.folder, "--log-level", "error"]
        words += ["--listen-client-urls", client, "--advertise-client-urls", client]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        words += ["--initial-cluster", "default=" + peer, "--unsafe-no-fsync"]
        self.process = subprocess.Popen(words)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stock(self, command, *words):
        ran = subprocess.run([self.program, command, self.member, PREFIX, *words], stdout=subprocess.PIPE, text=True, timeout=60)
        if ran.returncode != 0:
            raise SystemExit("`etcd %s` has failed" % command)
        return ran.stdout.splitlines()

    def keys(self):
        """The servers that are registered, with their values."""
        return dict(line.removeprefix(PREFIX + "/").split(" ", 1) for line in self.stock("list"))


class Servers:
    """Servers of ours, by number."""

    def __init__(self, program, name):
        self.program, self.name = program, name
        self.processes, self.places = {}, {}

    def start(self, number, *words):
        words = [self.program, "serve", str(number), *words]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.processes[number] = process
        self.places[number] = process.stdout.readline().strip().removeprefix("tcp://")

    def register(self, number):
        self.start(number, "--register", self.name, "--ttl", str(TTL))

    def end(self, number):
        process = self.processes.pop(number)
        process.terminate()
        if process.wait(LONG) != 0:
            raise SystemExit("a server does not end well")

    def kill(self, number):
        process = self.processes.pop(number)
        process.kill()
        process.wait()

    def kill_all(self):
        for number in list(self.processes):
            self.kill(number)


class Calls:
    """A client of ours that calls for some time."""

    def __init__(self, program, name, wire, seconds):
        words = [program, "call", name, "--wire", wire, "--policy", "round_robin", "--seconds", str(seconds)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def counts(self):
        output, _ = self.process.communicate(timeout=90)
        print("\n".join("  " + line for line in output.splitlines()))
        if self.process.returncode != 0 or "failed: 0" not in output.splitlines():
            raise SystemExit("calls have failed")
        return {int(number): int(calls) for number, calls in re.findall(r"server (\d+): (\d+) calls", output)}


def check(condition, what):
    if not condition:
        raise SystemExit(what)


def come_and_go(program, etcd):
    """Servers that come and go, as our client and a stock one of grpc-go see them."""
    name = "etcd://%s/%s" % (etcd.member, PREFIX)
    servers = Servers(program, name)
    try:
        for number in (1, 2):
            servers.register(number)
        until("two servers are registered", lambda: len(etcd.keys()) == 2)
        values = [json.loads(value) for value in etcd.keys().values()]
        check(sorted(value["Addr"] for value in values) == sorted(servers.places.values()), "strange values: %r" % values)
        calls = Calls(program, name, "dovetail", 22)

        servers.start(3)
        etcd.stock("add", servers.places[3])
        answers = etcd.stock("call", "/fleet.v1.Fleet/read", "30")
        check(set(answers) == {"1", "2", "3"}, "a client of grpc-go has reached %r" % set(answers))

        etcd.stock("revoke")
        until("leases that were revoked are replaced", lambda: len(etcd.keys()) == 3)

        time.sleep(1)
        servers.end(1)
        check(len(etcd.keys()) == 2, "a server that has ended is still registered")
        servers.kill(2)
        took = until("a server that was killed is forgotten", lambda: len(etcd.keys()) == 1)
        check(took < 3 * TTL, "that is too late")

        etcd.kill()
        print("  etcd is killed", flush=True)
        time.sleep(1)
        servers.register(4)
        time.sleep(1)
        etcd.start()
        until("a server registers that has come meanwhile", lambda: servers.places[4] in etcd.keys())
        counts = calls.counts()
        check(set(counts) == {1, 2, 3, 4}, "these servers were called: %r" % counts)
        check(all(calls > 200 for calls in counts.values()), "the calls are spread in a strange way: %r" % counts)
    finally:
        servers.kill_all()


def main():
    program, etcd = sys.argv[1:]
    print("servers that register in etcd", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        registry = Etcd(etcd, folder)
        try:
            come_and_go(program, registry)
        finally:
            registry.kill()


main()
