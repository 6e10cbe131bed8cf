"""Writes reference cases in the form that spec/golden/README.md describes."""

import json
import sys

import torch
from safetensors.torch import save_file


def folder():
    """Where the cases go: the first argument, spec/golden by default."""
    return sys.argv[1] if len(sys.argv) > 1 else "spec/golden"


def plain(t):
    """As it is stored: floats as F32; each tensor with memory of its own."""
    t = t.detach()
    return (t.float() if t.is_floating_point() else t).contiguous().clone()


def write(name, op, tensors, params, family="nn", what="", atol=2e-6,
          rtol=1e-5, computed_in="float64"):
    """Writes a case; `tensors` by role and name, such as "input.x"."""
    metadata = {
        "family": family, "op": op, "params": json.dumps(params),
        "what": what, "computed_in": computed_in,
        "atol": repr(atol), "rtol": repr(rtol),
        "notes": json.dumps(["PyTorch " + torch.__version__]),
    }
    stored = {key: plain(t) for key, t in tensors.items()}
    save_file(stored, f"{folder()}/{name}.safetensors", metadata)


def float64(*shape):
    """Normal numbers that F32 holds as they are, to compute with in F64."""
    return torch.randn(*shape).double().requires_grad_()


def leaf(t):
    """The same of given numbers."""
    return t.detach().float().double().requires_grad_()


def add_gradients(tensors, outputs, leaves):
    """Adds upstream gradients of `outputs`, and what they give `leaves`."""
    total = 0
    for name, y in outputs.items():
        g = torch.randn(y.shape).double()
        tensors["output." + name] = y
        tensors["upstream." + name] = g
        total = total + (y * g).sum()
    total.backward()
    for name, x in leaves.items():
        tensors["grad." + name] = (torch.zeros_like(x) if x.grad is None
                                   else x.grad)
