"""Cases of heed beside PyTorch's, in one run: see bench/harness.lua.

    python bench/NAME_torch.py [threads] [heed program] [rounds]

The heed program runs bench/NAME.lua as a child, which answers with the time of
one case at a time, in turns with PyTorch; the least of several rounds counts.
Cases are {name: function} or {name: (count, function)}. Of those whose number
of floating-point operations is told, the share of the cores' peak is shown
too: the median over the rounds of the share of what bench/peak.c (`ninja peak`
builds it) measures right before and after the case, since what a core of a
shared machine can do changes from one moment to the next. Rounds in which the
two differ by a tenth do not count. Of those whose bytes read are told, it is
the share of what bench/bandwidth.c reads of as many bytes a second, in the same
rounds (`ninja bandwidth`).
"""

import os
import statistics
import subprocess
import sys
import time

import torch


def seconds(case):
    count, run = case if isinstance(case, tuple) else (1, case)
    best = float("inf")
    for _ in range(5 if count > 1 else 1):
        start = time.perf_counter()
        for _ in range(count):
            run()
        best = min(best, (time.perf_counter() - start) / count)
    return best


def arguments():
    given = sys.argv[1:]
    threads = int(given[0]) if given else 2
    program = given[1] if len(given) > 1 else "build/heed"
    rounds = int(given[2]) if len(given) > 2 else 15
    return threads, program, rounds


class Child:
    """A program that answers a line with a number."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        bufsize=1)

    def ask(self, line=""):
        self.process.stdin.write(line + "\n")
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


CONFIG = """
local c = require "heed".config()
print(("heed: %s, %s"):format(c.isa, c.blas))
"""


def head(program, threads):
    """The machine, and the versions and kernels in use."""
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":")[1].strip() for line in info
                      if line.startswith("model name")), "unknown")
    print(f"{model}, {threads} of {os.cpu_count()} processors")
    print(subprocess.check_output([program, "-e", CONFIG], text=True).strip())
    print(f"PyTorch {torch.__version__}:",
          torch.backends.cpu.get_cpu_capability())


def add_shares(shares, rates, peaks):
    """What each of the rates is of the peaks right before and after it."""
    for part, rate, before, after in zip(shares, rates, peaks, peaks[1:]):
        if abs(before - after) < 0.1 * max(before, after):
            part.append(rate / (before + after) * 2e-9)


def compare(script, cases, flops=None, traffic=None, others=None):
    """Times every case of bench/`script`, and prints a table. `flops` are the
    operations of a case, by its name, and `traffic` the bytes that it reads;
    `others` are the cases of further libraries, by theirs."""
    flops, traffic, others = flops or {}, traffic or {}, others or {}
    threads, program, rounds = arguments()
    torch.set_num_threads(threads)
    heed = Child(program, script, str(threads), "serve")
    folder = os.path.dirname(program)
    meter = Child(os.path.join(folder, "peak"),
                  str(threads)) if flops else None
    readers = {n: Child(os.path.join(folder, "bandwidth"), str(n),
                        str(threads)) for n in set(traffic.values())}
    best, rate, shares = {}, {}, {}
    for _ in range(rounds):
        for name, case in cases.items():
            peers = [case] + [other[name] for other in others.values()]
            peaks, times = [meter.ask()] if meter else [], []
            for run in [lambda: heed.ask(name)] + [
                    lambda peer=peer: seconds(peer) for peer in peers]:
                times.append(run())
                if meter:
                    peaks.append(meter.ask())
            best[name] = [min(p) for p in zip(best.get(name, times), times)]
            if name in flops:
                add_shares(shares.setdefault(name, [[] for _ in times]),
                           [flops[name] / t for t in times], peaks)
            if name in traffic:
                n = traffic[name]
                rate[n] = max(rate.get(n, 0), readers[n].ask())
    heed.end()
    head(program, threads)
    for reader in readers.values():
        reader.end()
    print(f"{threads} threads; microseconds, and heed's part of a peer's")
    if meter:
        meter.end()
        print("% of the peak beside it:", ", ".join(["heed", "torch", *others]))
    for name, (ours, *theirs) in best.items():
        ratios = [f"  {peer} {t * 1e6:11.3f}  {ours / t:6.3f}"
                  for peer, t in zip(["torch", *others], theirs)]
        parts = [f"{statistics.median(part) * 100:7.1f} %" if part else
                 "      - %" for part in shares.get(name, [])]
        if name in traffic:
            n = traffic[name]
            parts += [f"{n / t / rate[n] * 1e-7:7.1f} %"
                      for t in (ours, *theirs)] + [f" of {rate[n]:.1f} GB/s"]
        print(f"{name:32} heed {ours * 1e6:11.3f}", *ratios, *parts, sep="")
    return best
