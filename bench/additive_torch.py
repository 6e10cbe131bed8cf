"""Additive and linear attention of PyTorch, composed of its functions, beside
heed's: see bench/additive.lua.

The causal linear one carries its sums from chunk to chunk as heed's does; a
running sum of all outer products would hold T * D * D numbers.
"""

import torch
from torch.nn.functional import elu

from harness import compare

CHUNK = 64
CASES = {}


def inputs(*shapes):
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def add(name, tensors, run):
    def forward():
        with torch.no_grad():
            run(*tensors)

    def both():
        for x in tensors:
            x.grad = None
        run(*tensors).sum().backward()

    CASES[name + ", forward"] = forward
    CASES[name + ", both"] = both


def additive(q, k, v, w, keep=None):
    scores = torch.tanh(q.unsqueeze(2) + k.unsqueeze(1)) @ w
    if keep is not None:
        scores = scores.masked_fill(~keep, -1e6)
    return torch.softmax(scores, -1) @ v


def linear(q, k, v):
    q, k = elu(q) + 1, elu(k) + 1
    below = q @ k.sum(-2).unsqueeze(-1)
    return q @ (k.transpose(-1, -2) @ v) / (below + 1e-6)


def linear_causal(q, k, v):
    q, k = elu(q) + 1, elu(k) + 1
    shape = v.shape
    below = (q * k.cumsum(-2)).sum(-1, keepdim=True)
    q, k, v = (x.unflatten(-2, (-1, CHUNK)) for x in (q, k, v))
    own = k.transpose(-1, -2) @ v
    before = own.cumsum(-3) - own
    out = q @ before + (q @ k.transpose(-1, -2)).tril() @ v
    return out.reshape(shape) / (below + 1e-6)


torch.manual_seed(1)
size = (8, 256, 128)
words = inputs(size, size, size, (128,))
lens = torch.arange(32, 257, 32)
keep = torch.arange(256) < lens[:, None, None]
add("additive", words, additive)
add("additive, lengths 32 to 256", words,
    lambda q, k, v, w: additive(q, k, v, w, keep))
for length in (8000, 16000):
    long = inputs(*[(1, 8, length, 64)] * 3)
    add(f"linear {length}", long, linear)
    add(f"linear causal {length}", long, linear_causal)

compare("bench/additive.lua", CASES)
