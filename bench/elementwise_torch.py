"""Elementwise functions of heed beside PyTorch's, in one run.

    python bench/elementwise_torch.py [threads] [heed program] [rounds]

heed runs bench/elementwise.lua as a child that answers with the time of one
case at a time, in turns with PyTorch; the least of several rounds counts.

heed keeps the pages of freed tensors. By default PyTorch gets fresh ones from
the system for each large result, which costs it more than the work itself;
here malloc is told to keep them, so that the loops are compared. With
FRESH=1 in the environment it is not told so.
"""

import ctypes
import os
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

if not os.environ.get("FRESH"):
    M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
    libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)

threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
program = sys.argv[2] if len(sys.argv) > 2 else "build/heed"
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7

torch.set_num_threads(threads)
torch.manual_seed(1)
N = 4096
x, y = torch.randn(N, N), torch.randn(N, N)
positive = torch.rand(N, N) + 0.1
row, column = torch.randn(N), torch.randn(N, 1)
turned = torch.randn(N, N).T
mask = x > 0
whole = torch.randint(1, 101, (N, N), dtype=torch.int32)
small = torch.randn(64, 64)

CASES = {
    "copy": lambda: x.clone(),
    "add": lambda: x + y,
    "add number": lambda: x + 1.5,
    "add row": lambda: x + row,
    "add column": lambda: x + column,
    "mul": lambda: x * y,
    "div": lambda: x / y,
    "mul_": lambda: y.mul_(1.0),
    "relu": lambda: x.relu(),
    "maximum": lambda: x.maximum(y),
    "clamp": lambda: x.clamp(-1, 1),
    "lt": lambda: x.lt(y),
    "where": lambda: torch.where(mask, x, y),
    "masked_fill": lambda: x.masked_fill(mask, 0),
    "to float64": lambda: x.to(torch.float64),
    "to int32": lambda: x.to(torch.int32),
    "to bfloat16": lambda: x.to(torch.bfloat16),
    "int32 to float32": lambda: whole.to(torch.float32),
    "exp": lambda: x.exp(),
    "log": lambda: positive.log(),
    "tanh": lambda: x.tanh(),
    "sigmoid": lambda: x.sigmoid(),
    "erf": lambda: x.erf(),
    "sin": lambda: x.sin(),
    "gelu": lambda: F.gelu(x),
    "silu": lambda: F.silu(x),
    "softplus": lambda: F.softplus(x),
    "mish": lambda: F.mish(x),
    "elu": lambda: F.elu(x),
    "expm1": lambda: x.expm1(),
    "log1p": lambda: positive.log1p(),
    "atan": lambda: x.atan(),
    "tan": lambda: x.tan(),
    "sinh": lambda: x.sinh(),
    "erfc": lambda: x.erfc(),
    "pow 2": lambda: x.pow(2),
    "pow 2.5": lambda: positive.pow(2.5),
    "pow tensor": lambda: positive.pow(y),
    "atan2": lambda: x.atan2(y),
    "lerp": lambda: x.lerp(y, 0.3),
    "contiguous of a transpose": lambda: turned.contiguous(),
    "exp of a transpose": lambda: turned.exp(),
    "add a transpose": lambda: x + turned,
    "add two transposes": lambda: turned + turned,
    "small add": lambda: small + small,
    "small exp": lambda: small.exp(),
}


def seconds(name):
    run = CASES[name]
    count = 2000 if name.startswith("small") else 1
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


child = subprocess.Popen(
    [program, "bench/elementwise.lua", str(threads), "serve"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def heed_seconds(name):
    child.stdin.write(name + "\n")
    return float(child.stdout.readline())


best = {}
with torch.inference_mode():
    for _ in range(rounds):
        for name in CASES:
            pair = heed_seconds(name), seconds(name)
            best[name] = [min(a, b) for a, b in zip(best.get(name, pair), pair)]
child.stdin.close()
child.wait()

print(f"{threads} threads; milliseconds, and heed's part of PyTorch's")
for name, (ours, theirs) in best.items():
    print(f"{name:26} heed {ours * 1e3:9.3f}  torch {theirs * 1e3:9.3f}"
          f"  {ours / theirs:6.2f}")
