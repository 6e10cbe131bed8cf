"""Cases of heed beside PyTorch's, in one run: see bench/harness.lua.

    python bench/NAME_torch.py [threads] [heed program] [rounds]

The heed program runs bench/NAME.lua as a child, which answers with the time of
one case at a time, in turns with PyTorch; the least of several rounds counts.
Cases are {name: function} or {name: (count, function)}.
"""

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


def compare(script, cases):
    """Times every case of bench/`script`, and prints a table."""
    threads, program, rounds = arguments()
    torch.set_num_threads(threads)
    child = subprocess.Popen([program, script, str(threads), "serve"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, bufsize=1)

    def ours(name):
        child.stdin.write(name + "\n")
        return float(child.stdout.readline())

    best = {}
    for _ in range(rounds):
        for name, case in cases.items():
            pair = ours(name), seconds(case)
            best[name] = [min(p) for p in zip(best.get(name, pair), pair)]
    child.stdin.close()
    child.wait()
    print(f"{threads} threads; microseconds, and heed's part of PyTorch's")
    for name, (heed, peer) in best.items():
        print(f"{name:32} heed {heed * 1e6:11.3f}  torch {peer * 1e6:11.3f}"
              f"  {heed / peer:6.3f}")
