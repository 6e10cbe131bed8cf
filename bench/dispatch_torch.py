"""What a call of PyTorch costs beside one of heed: see bench/dispatch.lua."""

import torch
import torch.nn.functional as F

from harness import compare

a, b = torch.ones(4), torch.ones(4)
m = torch.ones(4, 4)
g = torch.ones(4, requires_grad=True)


def both_ways():
    (g * b).sum().backward()
    g.grad = None


CASES = {
    "a + b": lambda: a + b,
    "a * 2.5": lambda: a * 2.5,
    "a:add_(b)": lambda: a.add_(b),
    "a:exp()": lambda: a.exp(),
    "a:relu()": lambda: a.relu(),
    "a:gt(b)": lambda: a.gt(b),
    "a:sum()": lambda: a.sum(),
    "m:sum(-1)": lambda: m.sum(-1),
    "a:reshape(2, 2)": lambda: a.reshape(2, 2),
    "m:transpose(1, 2)": lambda: m.transpose(0, 1),
    "m[1]": lambda: m[0],
    "m:softmax(-1)": lambda: m.softmax(-1),
    "m:matmul(m)": lambda: m.matmul(m),
    "zeros{4}": lambda: torch.zeros(4),
    "a:sum():item()": lambda: a.sum().item(),
    "a:size(1)": lambda: a.size(0),
    "recording g + b": lambda: g + b,
    "recording g * b": lambda: g * b,
    "recording g:exp()": lambda: g.exp(),
    "recording F.gelu(g)": lambda: F.gelu(g),
    "forward and backward": both_ways,
}

compare("bench/dispatch.lua", {k: (4000, f) for k, f in CASES.items()})
