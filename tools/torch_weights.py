"""Weights trade with PyTorch: the other side of spec/nn/torch_weights_spec.lua.

    python tools/torch_weights.py make spec/nn/torch
    python tools/torch_weights.py check build/heed

`make` writes a small safetensors file for each model: `state.NAME`, the state
dict as PyTorch has it, `in.NAME`, what the model is called with, and
`out.NAME`, what it gives. Weights and inputs are float32 numbers, results
float64, computed in float64. `check` goes the other way: heed makes the same
models with weights of its own (tools/torch_weights.lua), saves them and what
they give, and PyTorch must load them, strictly, and give the same.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn

TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "BOOL": "?"}
NAMES = {torch.float64: "F64", torch.float32: "F32", torch.int64: "I64",
         torch.bool: "BOOL"}


def save(path, tensors):
    header, chunks, at = {}, [], 0
    for name, tensor in tensors.items():
        data = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": NAMES[tensor.dtype],
                        "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(data)]}
        chunks.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def load(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            array = np.frombuffer(data[begin:end], TYPES[entry["dtype"]])
            tensors[name] = torch.from_numpy(
                array.reshape(entry["shape"]).copy())
    return tensors


class GPT(nn.Module):
    """The model of heed's nn.GPT, of PyTorch's layers."""

    def __init__(self, vocabulary, width, heads, layers, length):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(length, width)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(
            width, heads, 2 * width, 0.0, "gelu", batch_first=True,
            norm_first=True) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token_embedding.weight

    def forward(self, ids):
        steps = ids.shape[1]
        ahead = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        x = self.token_embedding(ids)
        x = x + self.position_embedding.weight[:steps]
        for layer in self.layers:
            x = layer(x, src_mask=ahead)
        return self.head(self.norm(x))


def attention(**options):
    return lambda: nn.MultiheadAttention(8, 2, batch_first=True, **options)


def run_attention(m, t):
    blocked = ~t["keep"] if "keep" in t else None
    out, weights = m(t["query"], t["key"], t["value"],
                     key_padding_mask=blocked, average_attn_weights=False)
    return {"out": out, "weights": weights}


def encoder_layer(norm_first, activation="relu"):
    return nn.TransformerEncoderLayer(8, 2, 12, 0.0, activation,
                                      batch_first=True, norm_first=norm_first)


def decoder_layer(norm_first):
    return nn.TransformerDecoderLayer(8, 2, 12, 0.0, "gelu", batch_first=True,
                                      norm_first=norm_first)


def run_encoder(m, t):
    return {"out": m(t["x"], src_key_padding_mask=~t["keep"])}


def run_decoder(m, t):
    return {"out": m(t["x"], t["memory"], tgt_mask=ahead(t["x"].shape[1]),
                     memory_key_padding_mask=~t["keep"])}


def ahead(steps):
    return torch.ones(steps, steps, dtype=torch.bool).triu(1)


def run_transformer(m, t):
    return {"out": m(t["src"], t["tgt"], tgt_mask=ahead(t["tgt"].shape[1]),
                     src_key_padding_mask=~t["keep"],
                     memory_key_padding_mask=~t["keep"])}


def numbers(*shape):
    return torch.randn(shape).double()


def keep(*lengths):
    return torch.arange(1, 6) <= torch.tensor(lengths)[:, None]


def attention_input(kdim=8, vdim=8):
    return {"query": numbers(2, 3, 8), "key": numbers(2, 5, kdim),
            "value": numbers(2, 5, vdim), "keep": keep(5, 3)}


def transformer(norm_first):
    return lambda: nn.Transformer(8, 2, 2, 1, 12, 0.0, "gelu",
                                  batch_first=True, norm_first=norm_first)


# name: how to make the model, how to call it, its inputs
MODELS = {
    "attention": (attention(), run_attention, attention_input),
    "attention_no_bias": (attention(bias=False), run_attention,
                          attention_input),
    "attention_widths": (attention(kdim=6, vdim=4), run_attention,
                         lambda: attention_input(6, 4)),
    "attention_extra": (attention(add_bias_kv=True, add_zero_attn=True),
                        run_attention, attention_input),
    "encoder": (lambda: nn.TransformerEncoder(
        encoder_layer(False), 2, enable_nested_tensor=False), run_encoder,
        lambda: {"x": numbers(2, 5, 8), "keep": keep(5, 3)}),
    "encoder_norm_first": (lambda: nn.TransformerEncoder(
        encoder_layer(True, "gelu"), 2, norm=nn.LayerNorm(8),
        enable_nested_tensor=False), run_encoder,
        lambda: {"x": numbers(2, 5, 8), "keep": keep(4, 5)}),
    "decoder": (lambda: nn.TransformerDecoder(decoder_layer(False), 2),
                run_decoder, lambda: {"x": numbers(2, 4, 8),
                                      "memory": numbers(2, 5, 8),
                                      "keep": keep(2, 5)}),
    "decoder_norm_first": (lambda: nn.TransformerDecoder(
        decoder_layer(True), 2, norm=nn.LayerNorm(8)), run_decoder,
        lambda: {"x": numbers(2, 4, 8), "memory": numbers(2, 5, 8),
                 "keep": keep(5, 1)}),
    "transformer": (transformer(False), run_transformer,
                    lambda: {"src": numbers(2, 5, 8), "tgt": numbers(2, 4, 8),
                             "keep": keep(5, 3)}),
    "transformer_norm_first": (transformer(True), run_transformer,
                               lambda: {"src": numbers(2, 5, 8),
                                        "tgt": numbers(2, 4, 8),
                                        "keep": keep(1, 5)}),
    # ids from 1, as heed counts
    "gpt": (lambda: GPT(11, 8, 2, 2, 6),
            lambda m, t: {"out": m(t["ids"] - 1)},
            lambda: {"ids": torch.randint(1, 12, (2, 6))}),
}

def stir(model):
    """Random values for what starts as 0 or 1, so that it counts."""
    for p in model.parameters():
        if p.dim() == 1:
            p.data += 0.3 * torch.randn_like(p)


def make(folder):
    os.makedirs(folder, exist_ok=True)
    total = 0
    for name, (build, run, inputs) in MODELS.items():
        torch.manual_seed(len(name))
        model = build()
        stir(model)
        state = {f"state.{key}": value.clone()
                 for key, value in model.state_dict().items()}
        given = inputs()
        results = run(model.double().train(), given)
        tensors = dict(state)
        for key, value in given.items():
            single = value.is_floating_point()
            tensors[f"in.{key}"] = value.float() if single else value
        tensors |= {f"out.{key}": value for key, value in results.items()}
        path = os.path.join(folder, name + ".safetensors")
        save(path, tensors)
        total += os.path.getsize(path)
    print(f"{len(MODELS)} files, {total} bytes")


def check(program):
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "tools/torch_weights.lua", folder],
                       check=True)
        for name, (build, run, _) in MODELS.items():
            tensors = load(os.path.join(folder, name + ".safetensors"))
            part = {kind: {key[len(kind) + 1:]: value
                           for key, value in tensors.items()
                           if key.startswith(kind + ".")}
                    for kind in ("state", "in", "out")}
            model = build().double().train()
            model.load_state_dict(part["state"])
            for key, value in run(model, part["in"]).items():
                off = (value - part["out"][key]).abs().max().item()
                worst = max(worst, off)
                print(f"{name:24} {key:8} {off:.1e}")
                if not off < 1e-10:
                    sys.exit(f"{name}: {key} is off by {off}")
    print(f"all {len(MODELS)} load and agree, to {worst:.1e}")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
