"""Polite callers of a server with 64 attackers beside them, and then with 64 polite clients that use as much of its CPU.

    python3 interop/hostile/soak.py PROGRAM --minutes 15        # each model
    python3 interop/hostile/soak.py PROGRAM --minutes 15 --model loops

Prints one line for each model, for docs/soak.md. Fails if a polite call fails, or if the 99th percentile of its time
is more than three times that beside polite clients.
"""

import argparse
import multiprocessing
import os
import random
import sys
import threading
import time
from contextlib import contextmanager

from attacks import ALL, ATTACKS
from target import PATIENCE, Caller, Server, Target

CALLERS, OTHERS, PROCESSES = 4, 64, 2
PAUSE = 0.005
MOST = 3.0


def attack(address, pid, model, done):
    """Runs attacks in a random order. Their assertions are for runs with one attacker."""
    chosen = [row for row in ATTACKS if model in row.models and not row.limits]
    while not done.is_set():
        server = Server(address, pid)
        try:
            random.choice(chosen).run(server)
        except (AssertionError, OSError):
            pass
        server.hang_up()


@contextmanager
def others(work):
    """Runs `work(done)` in 64 threads of two processes of low priority meanwhile."""
    done = multiprocessing.Event()

    def crowd():
        os.nice(19)
        for _ in range(OTHERS // PROCESSES):
            threading.Thread(target=work, args=(done,), daemon=True).start()
        done.wait()

    crowds = [multiprocessing.Process(target=crowd, daemon=True) for _ in range(PROCESSES)]
    for each in crowds:
        each.start()

    try:
        yield
    finally:
        done.set()
        for each in crowds:
            each.join(PATIENCE)
            each.kill()


def measure(target, seconds):
    """Returns the sorted times of polite calls meanwhile, and the cores that the server used."""
    before, callers = target.cpu(), [Caller(target.address, PAUSE) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    time.sleep(seconds)
    for caller in callers:
        caller.stop()
    failed = [caller.failed for caller in callers if caller.failed]
    if failed or not target.alive():
        raise OSError(f"polite calls failed: {failed}; {target.log[-400:].decode(errors='replace')}")
    return sorted(took for caller in callers for took in caller.times), (target.cpu() - before) / seconds


def percentile(times, share):
    return 1000 * times[min(len(times) - 1, int(share * len(times)))]


def beside_polite(target, seconds, wanted):
    """Measures beside polite clients that use this much CPU; short runs find their pause."""
    def run(pause, seconds):
        with others(lambda done: Caller(target.address, pause, done).run()):
            return measure(target, seconds)

    pause = 0.05
    for _ in range(4):
        used = run(pause, 2)[1]
        pause = min(2.0, max(0.0005, pause * used / max(wanted, 0.001)))
    return run(pause, seconds)


def soak(program, model, seconds):
    """Returns the line of a model, and whether its bound holds."""
    target = Target(program, model, ())
    try:
        Caller(target.address).call()
        memory = target.memory()
        with others(lambda done: attack(target.address, target.pid, model, done)):
            attacked, cpu = measure(target, seconds)
        peak = target.peak()
        compared, same = beside_polite(target, seconds / 3, cpu)
    except OSError as problem:
        return f"{model}: {problem}", False
    finally:
        target.stop()
    p99, usual = percentile(attacked, 0.99), percentile(compared, 0.99)
    line = (f"{model}: {len(attacked):,} polite calls beside {OTHERS} attackers, 0 failed; "
            f"p99 {p99:.2f} ms, beside polite clients {usual:.2f} ms (server's CPU {cpu:.2f} and {same:.2f} cores); "
            f"memory {memory:.0f} MB, at its peak {peak:.0f} MB")
    return line, p99 <= MOST * usual


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--model", choices=ALL, help="this model only")
    options = parser.parse_args()
    held = []
    for model in [options.model] if options.model else ALL:
        line, holds = soak(options.program, model, 60 * options.minutes)
        print(line if holds else f"FAILED  {line}", flush=True)
        held.append(holds)
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
