"""PyTorch's attention beside heed's: see bench/attention.lua.

Operations are those of the products: 4 B H T T D forward, 3.5 times that both
ways, half of it where causal, and of padded batches what the lengths leave.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention as attention

from harness import compare

torch.manual_seed(1)
CASES, FLOPS = {}, {}
SHAPES = [(32, 8, 10, 32, 100), (8, 8, 128, 64, 5), (4, 8, 512, 64, 1),
          (1, 8, 2048, 64, 1), (1, 8, 2048, 128, 1)]


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
    lengths = torch.tensor([t * i // b for i in range(1, b + 1)])
    mask = (torch.arange(t) < lengths[:, None])[:, None, None]
    add(f"{b} {h} {t} {d} padded", (b, h, t, d, 1),
        4 * h * t * int(lengths.sum()) * d, attn_mask=mask)

for queries in (1, 8):
    q = heads(1, 8, queries, 64)
    k, v = torch.randn(1, 8, 4096, 64), torch.randn(1, 8, 4096, 64)

    def decode(q=q, k=k, v=v):
        with torch.inference_mode():
            attention(q, k, v)

    CASES[f"decode {queries} of 4096"] = (20, decode)

compare("bench/attention.lua", CASES, FLOPS)
