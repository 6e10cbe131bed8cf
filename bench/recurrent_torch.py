"""Recurrent layers of PyTorch beside heed's: see bench/recurrent.lua."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from harness import compare

CASES = {}


def add(name, layer, x, lengths=None):
    def run():
        if lengths is None:
            return layer(x)[0]
        packed = pack_padded_sequence(x, lengths, batch_first=True,
                                      enforce_sorted=False)
        return layer(packed)[0].data

    def forward():
        with torch.no_grad():
            run()

    def both():
        layer.zero_grad()
        x.grad = None
        run().sum().backward()

    CASES[name + ", forward"] = forward
    CASES[name + ", both"] = both


def words(batch, steps, width):
    return torch.randn(batch, steps, width, requires_grad=True)


def lstm(width, **options):
    return nn.LSTM(width, width, batch_first=True, **options)


torch.manual_seed(1)
x = words(64, 32, 256)
add("LSTM", lstm(256), x)
add("GRU", nn.GRU(256, 256, batch_first=True), x)
add("RNN", nn.RNN(256, 256, batch_first=True), x)
add("LSTM, 2 layers, both ways",
    lstm(256, num_layers=2, bidirectional=True), x)
add("LSTM, lengths 1 to 32", lstm(256), x, torch.arange(64) // 2 + 1)
add("LSTM, 1 sequence", lstm(256), words(1, 32, 256))
add("LSTM, 512 wide", lstm(512), words(32, 32, 512))

compare("bench/recurrent.lua", CASES)
