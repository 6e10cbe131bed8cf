"""Reductions and orders of PyTorch beside heed's: see bench/reduce.lua."""

import torch

from harness import compare

torch.manual_seed(1)
x = torch.randn(4096, 4096)
t, line = x.t(), x.flatten()
y = torch.zeros(4096, 4096)
flags, whole = x > 0, (x * 100).int()
some, rows = torch.randn(1000000), torch.randn(10000, 100)
ids = torch.randint(1, 1001, (1000000,))

CASES = {"copy": lambda: y.copy_(x)}
for name in ("sum", "amax", "argmax", "var"):
    f = getattr(torch, name)
    CASES[name] = lambda f=f: f(line)
    CASES[name + " of rows"] = lambda f=f: f(x, 1)
    CASES[name + " of columns"] = lambda f=f: f(x, 0)
CASES.update({
    "max of rows": lambda: x.max(1),
    "max of columns": lambda: x.max(0),
    "mean of rows": lambda: x.mean(1),
    "prod": lambda: line.prod(),
    "logsumexp of rows": lambda: x.logsumexp(1),
    "sum, transposed": lambda: t.sum(),
    "sum of rows, transposed": lambda: t.sum(1),
    "argmax of rows, transposed": lambda: t.argmax(1),
    "sum of int32 rows": lambda: whole.sum(1),
    "any of bools": lambda: flags.any(),
    "count_nonzero": lambda: x.count_nonzero(),
})
for name in ("cumsum", "cumprod", "cummax"):
    f = getattr(torch, name)
    CASES[name + " along rows"] = lambda f=f: f(x, 1)
    CASES[name + " along columns"] = lambda f=f: f(x, 0)
CASES.update({
    "sort 10^6": lambda: some.sort(),
    "sort 10^6 int64": lambda: ids.sort(),
    "sort rows of 100": lambda: rows.sort(1),
    "sort columns": lambda: rows.sort(0),
    "topk 10 of 10^6": lambda: some.topk(10),
    "topk 10^5 of 10^6": lambda: some.topk(100000),
    "topk 5 of rows": lambda: rows.topk(5),
    "median 10^6": lambda: some.median(),
    "median of rows": lambda: rows.median(1),
    "kthvalue 10^6": lambda: some.kthvalue(1000),
    "quantile 10^6": lambda: some.quantile(0.3),
    "mode of rows": lambda: rows.mode(1),
    "unique 10^6": lambda: some.unique(),
    "unique 10^6 ids": lambda: ids.unique(),
    "histc 10^6": lambda: some.histc(100),
    "bincount 10^6": lambda: ids.bincount(),
})

compare("bench/reduce.lua", CASES)
