"""Elementwise functions of PyTorch beside heed's: see bench/elementwise.lua."""

import torch
import torch.nn.functional as F

from harness import compare

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
    "small add": (2000, lambda: small + small),
    "small exp": (2000, lambda: small.exp()),
}

with torch.inference_mode():
    compare("bench/elementwise.lua", CASES)
