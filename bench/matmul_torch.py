"""PyTorch's products of matrices beside heed's: see bench/matmul.lua.

Where NumPy is installed, its OpenBLAS is shown too. Leave OPENBLAS_CORETYPE
unset, so that it takes the kernels made for the processor.
"""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = sys.argv[1] if len(sys.argv) > 1 else "2"

import torch  # noqa: E402, it loads NumPy, which reads this variable

from harness import compare  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

torch.manual_seed(1)
CASES, FLOPS, ARRAYS = {}, {}, {}


def add(name, flops, a, b):
    count = 1 if flops > 400000000 else max(2, min(500, 40000000 // flops))

    def run():
        with torch.inference_mode():
            torch.matmul(a, b)

    CASES[name], FLOPS[name] = (count, run), flops
    if numpy:
        left, right = a.numpy(), b.numpy()
        ARRAYS[name] = (count, lambda: numpy.matmul(left, right))


def add_layouts(m, k, n):
    name, flops = f"{m} {k} {n}", 2 * m * k * n
    a, b = torch.randn(m, k), torch.randn(k, n)
    add(name, flops, a, b)
    add(name + " a b^T", flops, a, torch.randn(n, k).T)
    add(name + " a^T b", flops, torch.randn(k, m).T, b)


for size in (64, 96, 100, 128, 192, 256, 384, 512, 768, 1000, 1024, 1536,
             2048):
    add_layouts(size, size, size)
add_layouts(4096, 512, 512)
for rows in (1, 2, 4, 5, 8, 16):
    add_layouts(rows, 512, 512)
for batch, m, k, n in [(512, 10, 32, 10), (512, 10, 10, 32), (64, 64, 64, 64),
                       (32, 128, 64, 128)]:
    add(f"{batch} x {m} {k} {n}", 2 * batch * m * k * n,
        torch.randn(batch, m, k), torch.randn(batch, k, n))

compare("bench/matmul.lua", CASES, FLOPS,
        others={"numpy": ARRAYS} if numpy else {})
