"""Attacks a server of ours, and compares what the kernel says of it with the bounds beside each attack.

    python3 interop/hostile PROGRAM                     # all attacks, in all models
    python3 interop/hostile PROGRAM --only http --model loops
    python3 interop/hostile PROGRAM --write docs/security.md
"""

import argparse
import sys
import time
import traceback

from attacks import ALL, ATTACKS
from target import Caller, Target

BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"


class Result:
    def __init__(self, attack, model):
        self.attack, self.model = attack, model
        self.sent = self.memory = self.cpu = self.delay = 0
        self.problems = []

    def bound(self, what, found, most, unit):
        if found > most:
            self.problems.append(f"{what}: {found:.2f} {unit}, over the bound of {most} {unit}")


def run(program, attack, model):
    result = Result(attack, model)
    target = Target(program, model, attack.limits)
    try:
        measure(target, attack, result)
    except Exception as problem:
        said = str(problem) or traceback.format_exc()
        result.problems.append(said)
    finally:
        target.stop()
    if b"panicked" in target.log:
        result.problems.append(f"a panic: {target.log[-400:].decode(errors='replace')}")
    return result


def measure(target, attack, result):
    caller = Caller(target.address)
    caller.call()
    caller.times.clear()
    descriptors, memory, cpu = target.descriptors(), target.memory(), target.cpu()
    target.forget_peak()
    caller.start()
    try:
        attack.run(target)
        # The end of what the attack has begun counts, too.
        time.sleep(0.05)
    finally:
        result.sent = target.sent
        result.memory = max(0.0, target.peak() - memory) if target.alive() else float("inf")
        result.cpu = target.cpu() - cpu if target.alive() else float("inf")
        caller.stop()
        result.delay = max(caller.times, default=0.0)
    if not target.alive():
        raise AssertionError(f"the server has ended: {target.log[-400:].decode(errors='replace')}")
    if caller.failed:
        raise AssertionError(f"the polite caller: {caller.failed}")
    result.bound("memory", result.memory, attack.memory, "MB")
    result.bound("CPU", result.cpu, attack.cpu, "s")
    result.bound("a polite caller's wait", result.delay, attack.delay, "s")
    target.hang_up()
    # The polite caller's connection has gone as well.
    end = time.monotonic() + 3
    while target.descriptors() > descriptors:
        if time.monotonic() > end:
            result.problems.append(f"{target.descriptors() - descriptors} descriptors stay open")
            break
        time.sleep(0.01)


def table(results):
    """The table of docs/security.md: the worst figure of all models, and its bound."""
    lines = ["| attack | wire | bytes sent | memory | CPU | others wait |", "|---|---|---|---|---|---|"]
    for attack in ATTACKS:
        rows = [result for result in results if result.attack is attack]
        if rows:
            sent = max(result.sent for result in rows)
            lines.append(f"| {attack.title} | {attack.wire} | {rounded(sent)} | {cell(rows, 'memory', attack.memory, 'MB')} "
                         f"| {cell(rows, 'cpu', attack.cpu, 's')} | {cell(rows, 'delay', attack.delay, 's')} |")
    return "\n".join(lines)


def cell(rows, name, bound, unit):
    worst = max(getattr(result, name) for result in rows)
    return f"{worst:.2f} {unit} of {bound:g}"


def rounded(count):
    return f"{count:,}" if count < 10_000 else f"{count / 1000:,.0f} k"


def write(path, results):
    with open(path) as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open(path, "w") as file:
        file.write(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")


def missing(path):
    """Returns the attacks that the page lacks, or has with other bounds."""
    with open(path) as file:
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in file if line.startswith("| ")]
    known = [(row[0], row[1], *(cell.rsplit(" ", 1)[-1] for cell in row[3:])) for row in rows if len(row) == 6]
    wanted = [(attack.title, attack.wire, *(f"{bound:g}" for bound in (attack.memory, attack.cpu, attack.delay)))
              for attack in ATTACKS]
    return [row for row in wanted if row not in known]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="our peer: target/…/dovetail-peer")
    parser.add_argument("--only", default="", help="attacks that have this in their function's name, title or wire")
    parser.add_argument("--model", choices=ALL, help="this model only")
    parser.add_argument("--write", metavar="PAGE", help="put the table into this page")
    parser.add_argument("--check", metavar="PAGE", help="fail where the page's table lacks an attack, or has other bounds")
    options = parser.parse_args()
    chosen = [(attack, model) for attack in ATTACKS for model in attack.models
              if (not options.model or model == options.model)
              and any(options.only in text for text in (attack.title, attack.wire, attack.run.__name__))]
    results = []
    # One at a time: CPU and delays are measured.
    for attack, model in chosen:
        start = time.monotonic()
        result = run(options.program, attack, model)
        results.append(result)
        took = time.monotonic() - start
        print(f"{attack.wire:12} {model:8} {attack.run.__name__:18} {result.sent:>10,} bytes {result.memory:7.1f} MB "
              f"{result.cpu:5.2f} s CPU {1000 * result.delay:6.1f} ms wait {took:5.1f} s", flush=True)
        for problem in result.problems:
            print(f"    FAILED  {problem}", flush=True)
    failed = sum(bool(result.problems) for result in results)
    print(f"\n{len(results) - failed} passed, {failed} failed")
    if options.write:
        write(options.write, results)
    for title, wire, *bounds in missing(options.check) if options.check else ():
        failed += 1
        print(f"{options.check} has no row `{title}` over {wire} with the bounds {', '.join(bounds)}: "
              "`cargo xtask hostile --write`")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
