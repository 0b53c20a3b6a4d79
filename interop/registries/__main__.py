"""A channel to the servers that a registry knows, and servers that register there, beside what stock programs do with the registry.

    python3 interop/registries PROGRAM ETCD CLASSES   # PROGRAM is examples/balancing; the others are built from the folders here

Calls run all the time, one each millisecond, and none may fail: while servers come, end, are killed and lose their leases, and while
the registry itself is killed and comes back.
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from ports import free_port

BASE, SERVICE = "services", "fleet"
PREFIX = BASE + "/" + SERVICE
# In seconds: registrations of servers that are killed.
TTL = 2
LONG = 20


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


def run(words):
    """Runs a program, and returns its lines."""
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60)
    if ran.returncode != 0:
        raise SystemExit("this has failed: %s" % " ".join(words))
    return ran.stdout.splitlines()


class Etcd:
    """A server of etcd, and what stock clients do with it."""

    SECONDS = 26

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.member, self.peer = ("127.0.0.1:%d" % free_port() for _ in range(2))
        self.name = "etcd://%s/%s" % (self.member, PREFIX)

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
        return run([self.program, command, self.member, PREFIX, *words])

    def keys(self):
        """The servers that are registered, with the places that their values name."""
        keys = dict(line.removeprefix(PREFIX + "/").split(" ", 1) for line in self.stock("list"))
        return {key: json.loads(value)["Addr"] for key, value in keys.items()}

    def add(self, place):
        self.stock("add", place)

    def check_stock_clients(self, servers):
        """A client of grpc-go reaches all servers."""
        answers = self.stock("call", "/fleet.v1.Fleet/read", "30")
        check({int(answer) for answer in answers} == set(servers.places), "grpc-go has reached %r" % set(answers))

    def lose_sessions(self, _):
        """Ends all leases."""
        self.stock("revoke")


class ZooKeeper:
    """A server of ZooKeeper, and what Curator does with it."""

    SECONDS = 36

    # In milliseconds; sessions last two of these at least.
    TICK = 500

    def __init__(self, classes, folder):
        self.java = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", classes, "Registry"]
        self.folder, self.port = folder, free_port()
        self.member = "127.0.0.1:%d" % self.port
        self.name = "zk://%s/%s" % (self.member, PREFIX)

    def start(self):
        self.process = subprocess.Popen([*self.java, "serve", str(self.port), self.folder, str(self.TICK)], stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stock(self, command, *words):
        return run([*self.java, command, self.member, BASE, SERVICE, *words])

    def keys(self):
        keys = dict(line.split(" ", 1) for line in self.stock("list"))
        values = {key: json.loads(value) for key, value in keys.items()}
        return {key: "%s:%d" % (value["address"], value["port"]) for key, value in values.items()}

    def add(self, place):
        self.stock("add", place)

    def check_stock_clients(self, servers):
        """Curator finds all servers."""
        found = self.stock("discover")
        check(set(found) == set(servers.places.values()), "Curator has found %r" % found)

    def lose_sessions(self, servers):
        """Has a server sleep for longer than its session lasts."""
        servers.sleep(1, 3 * TTL)


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

    def sleep(self, number, seconds):
        self.processes[number].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.processes[number].send_signal(signal.SIGCONT)

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


def come_and_go(program, registry):
    """Servers that come and go, as our client and stock ones see them."""
    servers = Servers(program, registry.name)
    try:
        for number in (1, 2):
            servers.register(number)
        until("two servers are registered", lambda: len(registry.keys()) == 2)
        found = sorted(registry.keys().values())
        check(found == sorted(servers.places.values()), "these are registered: %r" % found)
        calls = Calls(program, registry.name, "dovetail", registry.SECONDS)

        servers.start(3)
        registry.add(servers.places[3])
        registry.check_stock_clients(servers)

        registry.lose_sessions(servers)
        until("sessions that were lost are replaced", lambda: len(registry.keys()) == 3)

        time.sleep(1)
        servers.end(1)
        check(len(registry.keys()) == 2, "a server that has ended is still registered")
        servers.kill(2)
        took = until("a server that was killed is forgotten", lambda: len(registry.keys()) == 1)
        check(took < 4 * TTL, "that is too late")

        registry.kill()
        print("  the registry is killed", flush=True)
        time.sleep(1)
        servers.register(4)
        time.sleep(1)
        registry.start()
        until("a server registers that has come meanwhile", lambda: servers.places[4] in registry.keys().values())
        counts = calls.counts()
        check(set(counts) == {1, 2, 3, 4}, "these servers were called: %r" % counts)
        check(all(calls > 200 for calls in counts.values()), "the calls are spread in a strange way: %r" % counts)
    finally:
        servers.kill_all()


def main():
    program, etcd, classes = sys.argv[1:]
    for kind, built in ((Etcd, etcd), (ZooKeeper, classes)):
        print("servers that register: %s" % kind.__name__, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            registry = kind(built, folder)
            registry.start()
            try:
                come_and_go(program, registry)
            finally:
                registry.kill()


main()
