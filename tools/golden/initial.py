"""Reference cases of first weights: models that are built after
manual_seed(0), and initialisers: python tools/golden/initial.py [folder]"""

import torch
from torch import nn

from case import write

SEED = 0


def names_of(module):
    return [name for name, _ in module.named_parameters()]


class Models:
    """A program of draws, and what it draws."""

    def __init__(self):
        self.program, self.outputs = [], {}

    def seed(self):
        torch.manual_seed(SEED)
        self.program.append({"fn": "seed", "value": SEED})

    def module(self, prefix, kind, module, **sizes):
        self.program.append({"fn": "module", "kind": kind, "prefix": prefix,
                             "params": names_of(module), **sizes})
        for name, p in module.named_parameters():
            self.outputs["output." + prefix + name] = p

    def init(self, into, size, **options):
        fn = options.pop("fn", into)
        t = torch.empty(size)
        getattr(nn.init, fn + "_")(t, **options)
        self.program.append({"fn": "init_" + fn, "into": into, "size": size,
                             **options})
        self.outputs["output." + into] = t

    def write(self, name, what, atol=2e-6):
        write(name, "rng_program", self.outputs,
              {"rng_program": self.program}, family="rng", what=what,
              atol=atol, computed_in="float32")


def recurrent(m):
    for kind in ("LSTM", "GRU", "RNN"):
        m.seed()
        for layers, both in ((1, False), (2, True)):
            model = getattr(nn, kind)(5, 4, layers, bidirectional=both)
            m.module(f"{kind}_{layers}.", kind.lower(), model, inp=5, out=4,
                     layers=layers, bidirectional=both)
        cell = getattr(nn, kind + "Cell")(5, 4)
        m.module(f"{kind}_cell.", kind.lower() + "_cell", cell, inp=5, out=4)


def seq2seq(m):
    """A translator with an LSTM, one after the other without a new seed."""
    m.seed()
    m.module("source.", "embedding", nn.Embedding(11, 6), num=11, dim=6)
    m.module("target.", "embedding", nn.Embedding(13, 6), num=13, dim=6)
    m.module("encoder.", "lstm", nn.LSTM(6, 8, 2), inp=6, out=8, layers=2)
    m.module("decoder.", "gru", nn.GRU(6, 8), inp=6, out=8, layers=1)
    m.module("out.", "linear", nn.Linear(8, 13), inp=8, out=13, bias=True)


def attention(m):
    """Embedding, attention, encoder layer, transformer and classifier."""
    m.seed()
    m.module("words.", "embedding", nn.Embedding(20, 8), num=20, dim=8)
    m.module("mha.", "mha", nn.MultiheadAttention(8, 2), embed=8, heads=2)
    m.module("layer.", "encoder_layer",
             nn.TransformerEncoderLayer(8, 2, dim_feedforward=12), embed=8,
             heads=2, ff=12)
    m.module("transformer.", "transformer",
             nn.Transformer(8, 2, 1, 1, dim_feedforward=12), embed=8,
             heads=2, enc=1, dec=1, ff=12)
    m.module("out.", "linear", nn.Linear(8, 3), inp=8, out=3, bias=True)


def initialisers(m):
    for name, options in (
            ("kaiming_uniform_relu", {"fn": "kaiming_uniform",
                                      "nonlinearity": "relu"}),
            ("kaiming_normal_out", {"fn": "kaiming_normal",
                                    "mode": "fan_out",
                                    "nonlinearity": "tanh"}),
            ("orthogonal", {}), ("orthogonal_wide", {"fn": "orthogonal",
                                                     "gain": 2.0}),
            ("sparse", {"sparsity": 0.4}), ("eye", {}),
            ("dirac", {}), ("dirac_groups", {"fn": "dirac", "groups": 2})):
        m.seed()
        size = [4, 3, 3] if "dirac" in name else [4, 7] if "wide" in name \
            else [7, 4]
        m.init(name, size, **options)


models = Models()
recurrent(models)
models.write("rng_recurrent_s0", "First weights of recurrent modules.")
models = Models()
seq2seq(models)
models.write("rng_seq2seq_s0", "First weights of an LSTM translator.")
models = Models()
attention(models)
models.write("rng_attention_s0", "First weights of attention models.")
models = Models()
initialisers(models)
models.write("rng_named_init_s0", "Named initialisers, reseeded before each.")
