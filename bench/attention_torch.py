"""PyTorch's attention beside heed's: see bench/attention.lua.

Operations are those of the products: 4 B H T T D forward, 3.5 times that both
ways, half of it where causal, and of padded batches what the lengths leave. The
other tables of attention follow: decode, additive and linear, matmul.
"""

import os
from runpy import run_path

import torch
from torch.nn.functional import scaled_dot_product_attention as attention

from harness import compare

torch.manual_seed(1)
CASES, FLOPS = {}, {}
SHAPES = [(32, 8, 10, 32, 100), (8, 8, 128, 64, 5), (4, 8, 512, 64, 1),
          (1, 8, 2048, 64, 1), (1, 8, 2048, 128, 1), (1, 8, 8192, 64, 1)]


def heads(b, h, t, d):
    return torch.randn(b, t, h, d).transpose(1, 2)


def add(name, shape, flops, **options):
    b, h, t, d, count = shape
    q, k, v = (heads(b, h, t, d) for _ in range(3))

    def forward():
        with torch.inference_mode():
            attention(q, k, v, **options)

    leaves = [torch.randn(b, t, h, d, requires_grad=True) for _ in range(3)]
    up = torch.randn(b, h, t, d)

    def both():
        inputs = (x.transpose(1, 2) for x in leaves)
        attention(*inputs, **options).backward(up)
        for x in leaves:
            x.grad = None

    CASES[name], CASES[name + " both"] = (count, forward), (count, both)
    FLOPS[name], FLOPS[name + " both"] = flops, 3.5 * flops


for shape in SHAPES:
    b, h, t, d, count = shape
    name, work = f"{b} {h} {t} {d}", 4 * b * h * t * t * d
    add(name, shape, work)
    add(name + " causal", shape, work / 2, is_causal=True)

for b, h, t, d in [(8, 8, 128, 64), (8, 8, 512, 64)]:
    name, lengths = f"{b} {h} {t} {d}", [t * i // b for i in range(1, b + 1)]
    mask = (torch.arange(t) < torch.tensor(lengths)[:, None])[:, None, None]
    # every query of a padded batch is worked on, packed ones are not padded
    add(f"{name} padded", (b, h, t, d, 1), 4 * h * t * sum(lengths) * d,
        attn_mask=mask)
    total, work = sum(lengths), 4 * h * sum(n * n for n in lengths) * d
    block = torch.block_diag(*[torch.ones(n, n) for n in lengths]).bool()
    add(f"{name} packed", (1, h, total, d, 1), work, attn_mask=block)
    alone = [[heads(1, h, n, d) for _ in range(3)] for n in lengths]

    def one_by_one(alone=alone):
        with torch.inference_mode():
            for q, k, v in alone:
                attention(q, k, v)

    CASES[f"{name} one by one"] = one_by_one
    FLOPS[f"{name} one by one"] = work

for t in (4096, 8192):
    place = torch.arange(t)
    far = place[:, None] - place
    add(f"1 8 {t} 64 window 256", (1, 8, t, 64, 1), 4 * 8 * t * 256 * 64,
        attn_mask=(far >= 0) & (far < 256))

best = compare("bench/attention.lua", CASES, FLOPS)
print("\nheed beside itself")
for name in best:
    for kind, other in (("causal", ""), ("padded", " one by one"),
                        ("packed", " one by one")):
        if f" {kind}" in name and name.replace(f" {kind}", other) in best:
            part = best[name][0] / best[name.replace(f" {kind}", other)][0]
            print(f"{name:32} {part:6.3f} of{other or ' the whole'}")
part = best["1 8 8192 64 window 256"][0] / best["1 8 4096 64 window 256"][0]
print(f"{'window 256, T 8192':32} {part:6.3f} of T 4096")

for name in ("decode", "additive", "matmul"):
    print(f"\n{name}")
    run_path(os.path.join(os.path.dirname(__file__), f"{name}_torch.py"))
