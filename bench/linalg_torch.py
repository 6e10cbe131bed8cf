"""Linear algebra of PyTorch beside heed's: see bench/linalg.lua."""

import torch

from harness import compare

torch.manual_seed(1)
randn, einsum, linalg = torch.randn, torch.einsum, torch.linalg
q0, k0 = randn(1, 2, 4, 8), randn(1, 2, 4, 8)
small = [randn(4, 4) for _ in range(3)]
q, k = randn(8, 8, 128, 64), randn(8, 8, 128, 64)
w = randn(8, 8, 128, 128)
qt, kt = randn(8, 128, 8, 64), randn(8, 128, 8, 64)
a, b = randn(256, 256), randn(256, 64)
p = a @ a.T + torch.eye(256) * 10
few = randn(1000, 4, 4) + torch.eye(4) * 4
ones = torch.ones(1000, 8, 8)
x, y = randn(500, 64), randn(400, 64)
long = randn(1000, 1000)

CASES = {
    "einsum, tiny scores": (2000, lambda: einsum("bhqd,bhkd->bhqk", q0, k0)),
    "matmul, tiny scores": (2000, lambda: q0 @ k0.transpose(-1, -2)),
    "einsum, 3 tiny": (2000, lambda: einsum("ij,jk,kl->il", *small)),
    "einsum bhqd,bhkd->bhqk": (5, lambda: einsum("bhqd,bhkd->bhqk", q, k)),
    "einsum bhqk,bhkd->bhqd": (5, lambda: einsum("bhqk,bhkd->bhqd", w, k)),
    "einsum bqhd,bkhd->bhqk": (5, lambda: einsum("bqhd,bkhd->bhqk", qt, kt)),
    "bmm 1000 of 8": (10, lambda: ones.bmm(ones)),
    "addmm 256": (20, lambda: torch.addmm(b, a, b)),
    "solve 256": (10, lambda: linalg.solve(a, b)),
    "inv 256": (5, lambda: linalg.inv(a)),
    "cholesky 256": (20, lambda: linalg.cholesky(p)),
    "qr 256": (3, lambda: linalg.qr(a)),
    "svd 256": (1, lambda: linalg.svd(a)),
    "svdvals 256": (1, lambda: linalg.svdvals(a)),
    "eigh 256": (1, lambda: linalg.eigh(p)),
    "lstsq 256": (1, lambda: linalg.lstsq(a, b, driver="gelsd")),
    "solve 1000 of 4": (5, lambda: linalg.solve(few, few)),
    "inv 1000 of 4": (5, lambda: linalg.inv(few)),
    "det 1000 of 4": (5, lambda: linalg.det(few)),
    "cdist 500 400": (3, lambda: torch.cdist(x, y)),
    "norm": (20, lambda: long.norm()),
    "norm of rows": (20, lambda: long.norm(2, 1)),
    "norm of columns": (20, lambda: long.norm(2, 0)),
}

with torch.inference_mode():
    compare("bench/linalg.lua", CASES)
