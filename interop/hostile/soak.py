"""Polite callers of a server with 64 attackers beside them, and then with 64 polite clients that use as much of its CPU.

    python3 interop/hostile/soak.py PROGRAM --minutes 15 --model loops

Prints one line for docs/soak.md. Fails where a polite call fails, or where the 99th percentile of its time is more
than three times that beside polite clients.
"""

import argparse
import multiprocessing
import os
import random
import socket
import sys
import threading
import time

from attacks import ALL, ATTACKS
from target import PATIENCE, Caller, Peer, Target

CALLERS, OTHERS, PROCESSES = 4, 64, 2
PAUSE = 0.005
MOST = 3.0


class Shared:
    """What an attack needs of a server whose process it does not own; it cannot count what others have open."""

    def __init__(self, address):
        self.address, self.sent, self.peers = address, 0, []

    def connect(self):
        peer = Peer(self, socket.create_connection(self.address, PATIENCE))
        self.peers.append(peer)
        return peer

    def hang_up(self):
        while self.peers:
            self.peers.pop().close()

    def descriptors(self):
        return 0


def attack(address, model, done):
    """Attacks in a random order, until it is over. Assertions are for the runs that own the server."""
    chosen = [row for row in ATTACKS if model in row.models and not row.limits]
    while not done.is_set():
        target = Shared(address)
        try:
            random.choice(chosen).run(target)
        except (AssertionError, OSError):
            pass
        target.hang_up()


def polite(address, model, done, pause):
    """A client that calls and waits."""
    shared = Shared(address)
    caller = Caller(shared)
    while not done.wait(pause):
        caller.call()


def others(work, *more):
    """64 threads in two processes of low priority."""
    done = multiprocessing.Event()

    def crowd():
        os.nice(19)
        threads = [threading.Thread(target=work, args=(*more[:2], done, *more[2:]), daemon=True)
                   for _ in range(OTHERS // PROCESSES)]
        for thread in threads:
            thread.start()
        done.wait()

    crowds = [multiprocessing.Process(target=crowd, daemon=True) for _ in range(PROCESSES)]
    for each in crowds:
        each.start()

    def stop():
        done.set()
        for each in crowds:
            each.join(PATIENCE)
            each.kill()
    return stop


def measure(target, seconds):
    """The times of the polite calls meanwhile, sorted, and the server's CPU a second."""
    times, failed, end = [], [], time.monotonic() + seconds

    def call():
        try:
            caller = Caller(target)
            while time.monotonic() < end:
                start = time.monotonic()
                caller.call()
                times.append(time.monotonic() - start)
                time.sleep(PAUSE)
        except OSError as problem:
            failed.append(problem)

    before, threads = target.cpu(), [threading.Thread(target=call) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed or not target.alive():
        raise SystemExit(f"FAILED  polite calls failed: {failed[:3]}; {target.log[-400:].decode(errors='replace')}")
    return sorted(times), (target.cpu() - before) / seconds


def percentile(times, share):
    return 1000 * times[min(len(times) - 1, int(share * len(times)))]


def beside_polite(target, model, seconds, wanted):
    """Polite clients that use this much CPU: their pause is found in short runs first."""
    pause = 0.05
    for _ in range(4):
        stop = others(polite, target.address, model, pause)
        used = measure(target, 2)[1]
        stop()
        pause = min(2.0, max(0.0005, pause * used / max(wanted, 0.001)))
    stop = others(polite, target.address, model, pause)
    found = measure(target, seconds)
    stop()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--model", choices=ALL, default="loops")
    options = parser.parse_args()
    seconds = 60 * options.minutes
    target = Target(options.program, options.model, ())
    try:
        Caller(target).call()
        memory = target.memory()
        stop = others(attack, target.address, options.model)
        attacked, cpu = measure(target, seconds)
        stop()
        peak = target.peak()
        compared, same = beside_polite(target, options.model, seconds / 3, cpu)
    finally:
        target.stop()
    p99, usual = percentile(attacked, 0.99), percentile(compared, 0.99)
    print(f"{options.model}: {len(attacked):,} polite calls beside {OTHERS} attackers, 0 failed; "
          f"p99 {p99:.2f} ms, beside polite clients {usual:.2f} ms (server's CPU {cpu:.2f} and {same:.2f} cores); "
          f"memory {memory:.0f} MB, at its peak {peak:.0f} MB")
    return 1 if p99 > MOST * usual else 0


if __name__ == "__main__":
    sys.exit(main())
