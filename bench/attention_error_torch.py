"""How far from exact attention in float32 is, in heed and in PyTorch.

    python bench/attention_error_torch.py [threads] [heed program]

Both take the same inputs: q, k, v [1 4 T D] of N(0, 1), or q and k 6 times
that, which makes scores of about +-150; exact is PyTorch's formula in float64
on these. Of the result and the gradients of sum(out * up) it prints the largest
and the root mean square error, in units of 1e-7, and heed's part of PyTorch's.
"""

import os
import tempfile

import torch
from safetensors.torch import load_file, save_file
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention

from harness import Child, arguments

HEADS = 4
SHAPES = [(128, 64), (512, 64), (2048, 64), (512, 128), (2048, 128),
          (300, 96), (777, 80)]
NAMES = ("out", "dq", "dk", "dv")


def draw(time, size, factor, bias):
    shape = (1, HEADS, time, size)
    t = {name: torch.randn(shape) for name in ("q", "k", "v", "up")}
    t["q"] *= factor
    t["k"] *= factor
    if bias:
        t["bias"] = torch.randn(HEADS, time, time)
    return t


def run(t, causal, dtype):
    t = {name: x.to(dtype, copy=True) for name, x in t.items()}
    leaves = [t[name].requires_grad_() for name in "qkv"]
    mask = t.get("bias")
    if mask is not None:
        mask = mask[None]
    out = attention(*leaves, attn_mask=mask, is_causal=causal)
    out.backward(t["up"])
    return dict(zip(NAMES, [out.detach()] + [x.grad for x in leaves]))


def errors(got, want):
    off = got.double() - want
    return off.abs().max().item(), off.square().mean().sqrt().item()


def compare(heed, folder, time, size, factor, causal, bias):
    t = draw(time, size, factor, bias)
    inputs, results = (os.path.join(folder, name) for name in ("in", "out"))
    save_file(t, inputs)
    heed.ask(f"{inputs} {results} {'causal' if causal else ''}".rstrip())
    ours = load_file(results)
    peers = run(t, causal, torch.float32)
    with sdpa_kernel(SDPBackend.MATH):
        exact = run(t, causal, torch.float64)
    name = f"{time} {size}{' x6' if factor > 1 else ''}"
    name += (" causal" if causal else "") + (" bias" if bias else "")
    for key in NAMES:
        pair = errors(ours[key], exact[key]), errors(peers[key], exact[key])
        cells = [f"{a * 1e7:10.2f}{b * 1e7:10.2f}{a / b:7.2f}"
                 for a, b in zip(*pair)]
        print(f"{name:20} {key:4}", *cells)
        yield [a / b for a, b in zip(*pair)]


def main():
    threads, program, _ = arguments()
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    heed = Child(program, "bench/attention_error.lua", str(threads))
    print(f"{'':26}{'max: heed':>10}{'PyTorch':>10}{'ratio':>7}"
          f" {'rms: heed':>10}{'PyTorch':>10}{'ratio':>7}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            for factor in (1, 6):
                for causal, bias in ((0, 0), (1, 0), (0, 1)):
                    ratios += compare(heed, folder, *shape, factor,
                                      bool(causal), bool(bias))
    heed.end()
    logs = torch.tensor(ratios).log().mean(0).exp()
    worst = torch.tensor(ratios).max(0).values
    print(f"{len(ratios)} ratios: geometric mean {logs[0]:.2f} (max), "
          f"{logs[1]:.2f} (rms); largest {worst[0]:.2f}, {worst[1]:.2f}")


main()
