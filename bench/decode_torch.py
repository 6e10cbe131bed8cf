"""PyTorch's attention of few queries beside heed's: see bench/decode.lua.

Shares are of the bytes of all keys and values a second that the cores can
read. What is below the size of the last cache is read from there, mostly.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention as attention

from harness import compare

torch.manual_seed(1)
CASES, TRAFFIC = {}, {}
SHAPES = [(1, 8, 8, 1, 4096, 64), (1, 8, 8, 8, 4096, 64),
          (1, 8, 8, 1, 4096, 128), (1, 8, 8, 1, 16384, 64),
          (1, 8, 8, 8, 16384, 64), (1, 8, 1, 1, 16384, 128),
          (1, 8, 2, 1, 16384, 128), (8, 8, 8, 1, 4096, 64),
          (8, 8, 2, 1, 4096, 128)]

for b, h, kv, tq, tk, d in SHAPES:
    q = torch.randn(b, tq, h, d).transpose(1, 2)
    k, v = torch.randn(b, kv, tk, d), torch.randn(b, kv, tk, d)

    def decode(q=q, k=k, v=v, grouped=h != kv):
        with torch.inference_mode():
            attention(q, k, v, enable_gqa=grouped)

    name = f"{tq} of {tk}, batch {b}, heads {h} / {kv}, {d}"
    CASES[name] = (5 if tk * b > 4096 else 20, decode)
    TRAFFIC[name] = 8 * b * kv * tk * d

compare("bench/decode.lua", CASES, traffic=TRAFFIC)
