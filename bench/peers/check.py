#!/usr/bin/env python3
"""Checks that programs keep the contract of bench/README.md; it measures nothing.

    check.py PROGRAM ...                     every system that each PROGRAM describes
    check.py PROGRAM --system NAME ...       only these systems

PROGRAM is a path or a command with its first arguments in one word: "java -jar bench.jar". Every workload and case
runs with few calls, over own and shared connections, at a fixed rate, and in one process; then come results that a
proxy damaged on their way, and wrong use. One line is printed for each failure; the exit code is 1 if there was one.
"""

import argparse
import json
import shlex
import socket
import subprocess
import sys
import threading

CASES = [("get_answer", "-")]
CASES += [("get_blob", str(1024 * 4**step)) for step in range(8)]
CASES += [(name, "-") for name in ("get_structs", "blob_100k", "structs_100k")]
CASES += [("db_work", "10"), ("db_work", "10+1ms"), ("agent_small", "-"), ("agent_large", "-")]

FIGURES = ["calls", "elapsed_ns", "cpu_ns", "voluntary_switches", "involuntary_switches", "peak_rss_kb"]
ORDERED = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"]
LATENCY = ["count", "mean_ns", "sd_ns", *ORDERED]
SECONDS = 600
SERVER_SECONDS = 6 * SECONDS  # It runs through all checks of its system.


def is_local(system):
    """Whether client and server find each other over a Unix socket, not over TCP."""
    return not {"unix", "shm"}.isdisjoint(system.split("-"))


class Wrong(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Wrong(message)


class Program:
    """One run of a program."""

    def __init__(self, command, *options, seconds=SECONDS):
        self.process = subprocess.Popen(
            [*command, *map(str, options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.overdue = threading.Timer(seconds, self.process.kill)
        self.overdue.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.overdue.cancel()

    def line(self):
        return self.process.stdout.readline()

    def end(self, last_words=""):
        """Writes the last words and closes standard input; returns exit code, standard output and error."""
        try:
            out, error = self.process.communicate(last_words, timeout=SECONDS)
        except BrokenPipeError:
            out, error = self.process.communicate()
        self.overdue.cancel()
        return self.process.returncode, out, error


def run_load(command, *options):
    """Runs a client to its end; returns exit code, what it printed after READY, and its errors."""
    with Program(command, *options) as program:
        if program.line() != "READY\n":
            return program.end()
        return program.end("\n")


def check_result(result, calls):
    """Whether a client ended well, with so many calls, or with one of several numbers."""
    calls = calls if isinstance(calls, range) else [calls]
    code, out, error = result
    expect(code == 0, f"exit code {code}: {error.strip()[:300]}")
    expect(out.count("\n") == 1, f"not one line: {out[:300]!r}")
    figures = json.loads(out)
    for name in FIGURES:
        expect(isinstance(figures.get(name), int), f"no whole number `{name}`")
    latency = figures.get("latency", {})
    for name in LATENCY:
        expect(isinstance(latency.get(name), (int, float)), f"no number `latency.{name}`")
    expect(figures["calls"] in calls, f"{figures['calls']} calls instead of {calls}")
    expect(latency["count"] == figures["calls"], f"{latency['count']} latencies of {figures['calls']} calls")
    values = [latency[name] for name in ORDERED]
    expect(values == sorted(values), f"latencies out of order: {latency}")
    expect(0 < values[0] and latency["min_ns"] * 0.99 <= latency["mean_ns"] <= latency["max_ns"] * 1.01, "a wrong mean")
    expect(figures["elapsed_ns"] * 1.01 >= latency["max_ns"], "less time elapsed than one call took")


def check_refusal(result, code=2):
    got, out, error = result
    expect(got == code, f"exit code {got} instead of {code}: {(out + error).strip()[:300]}")
    expect(error.strip().count("\n") == 0 and error.strip(), f"not one line on standard error: {error[:300]!r}")


def load(system, workload, case, clients=3, connections=3, calls=10, warmup=2):
    return ["--system", system, "--workload", workload, "--case", case, "--clients", clients,
            "--connections", connections, "--calls", calls, "--warmup", warmup]


class DamagingProxy:
    """Passes bytes on between a client and a server, and changes one of the answer's: blobs arrive, but wrong."""

    PLACE = 500_000

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.server = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.server)
            threading.Thread(target=self.copy, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, self.PLACE), daemon=True).start()

    @staticmethod
    def copy(source, sink, place):
        passed = 0
        try:
            while data := bytearray(source.recv(1 << 16)):
                if place is not None and passed <= place < passed + len(data):
                    data[place - passed] ^= 0xFF
                passed += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Checks:
    def __init__(self, command):
        self.command = command
        self.count = 0
        self.failures = 0

    def check(self, name, body):
        self.count += 1
        try:
            body()
        except (Wrong, ValueError, OSError) as wrong:
            self.failures += 1
            print(f"FAILED {name}: {wrong}", flush=True)

    def describe(self):
        code, out, _ = Program(self.command, "--describe").end()
        expect(code == 0, f"--describe ends with exit code {code}")
        systems = json.loads(out)["systems"]
        for name, system in systems.items():
            expect(system.get("version") and system.get("configuration"), f"--describe says too little of {name}")
        return list(systems)

    def system(self, system):
        if system == "direct":  # It has no server.
            self.both(system)
            return
        listen, scheme = ([], "unix:") if is_local(system) else (["--address", "127.0.0.1:0"], "127.0.0.1:")
        options = ["--mode", "server", "--system", system, *listen]
        with Program(self.command, *options, seconds=SERVER_SECONDS) as server:
            word, _, address = server.line().strip().partition(" ")
            if word != "READY" or not address.startswith(scheme):
                code, _, error = server.end()
                raise Wrong(f"the server is not ready: exit code {code}: {error.strip()[:300]}")
            self.client(system, address)
            code, _, _ = server.end()
            expect(code == 0, f"the server ends with exit code {code}")
        self.both(system)

    def client(self, system, address):
        to = ["--mode", "client", "--address", address]

        def run(workload, case, *more, **numbers):
            return run_load(self.command, *to, *load(system, workload, case, **numbers), *more)

        def shared(workload):
            result = run(workload, "-", clients=3, connections=1)
            check_refusal(result) if result[0] == 2 else check_result(result, 10)

        def damaged():
            proxy = ["--mode", "client", "--address", DamagingProxy(address).address]
            options = load(system, "get_blob", "1048576", 1, 1, warmup=1)
            check_refusal(run_load(self.command, *proxy, *options), code=1)

        for workload, case in CASES:
            self.check(f"{system} {workload} {case}", lambda: check_result(run(workload, case), 10))
        for workload in ("get_answer", "structs_100k"):
            self.check(f"{system} {workload}, one connection of three callers", lambda: shared(workload))
        self.check(f"{system}, a rate", lambda: check_result(run("get_answer", "-", "--rate", "200", calls=50), 50))
        self.check(f"{system}, a time limit",
                   lambda: check_result(run("get_answer", "-", "--limit-ms", "50", calls=900_000), range(3, 900_000)))
        self.check(f"{system}, no time at all",
                   lambda: check_result(run("get_answer", "-", "--limit-ms", "0", calls=900), 3))
        self.check(f"{system}, wrong use: a rate and a time limit",
                   lambda: check_refusal(run("get_answer", "-", "--rate", "200", "--limit-ms", "50")))
        self.check(f"{system}, more callers than calls", lambda: check_result(run("get_answer", "-", calls=2), 2))
        self.check(f"{system}, no warm-up", lambda: check_result(run("get_answer", "-", warmup=0), 10))
        if not is_local(system):
            self.check(f"{system}, a damaged result", damaged)
        for workload, case in [("get_lost", "-"), ("get_blob", "-"), ("get_answer", "1"), ("db_work", "x")]:
            self.check(f"{system}, wrong use: {workload} {case}", lambda: check_refusal(run(workload, case)))
        self.check(f"{system}, wrong use: no callers", lambda: check_refusal(run("get_answer", "-", clients=0)))

    def both(self, system):
        for workload, case in CASES:
            options = ["--mode", "both", *load(system, workload, case, 1, 1)]
            self.check(f"{system} {workload} {case}, one process",
                       lambda: check_result(run_load(self.command, *options), 10))

    def wrong_use(self, system):
        uses = [
            ["--mode", "server", "--system", "no-such-system"],
            ["--mode", "server"],
            ["--mode", "sideways", "--system", system],
            ["--mode", "server", "--system", system, "--no-such-option", "1"],
            ["--mode", "client", "--system", system],
            [],
        ]
        for options in uses:
            self.check("wrong use: " + " ".join(options), lambda: check_refusal(Program(self.command, *options).end()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--system", action="append", help="only this one; can be given several times")
    arguments = parser.parse_args()
    failures = 0
    for program in arguments.programs:
        checks = Checks(shlex.split(program))
        described = []
        checks.check("--describe", lambda: described.extend(checks.describe()))
        systems = [name for name in described if name in (arguments.system or described)]
        for system in systems:
            checks.check(system, lambda: checks.system(system))
        if systems:
            checks.wrong_use(systems[0])
        print(f"{program}: {checks.count} checks of {', '.join(systems) or 'nothing'}; {checks.failures} failed")
        failures += checks.failures
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
