"""Reference cases of recurrent layers:
python tools/golden/recurrent.py [folder]"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from case import add_gradients, float64, write

BATCH, STEPS, INPUTS, HIDDEN = 3, 5, 4, 3


def parts(state):
    return list(state) if isinstance(state, tuple) else [state]


def layer(name, kind, lengths=None, state=False, alone=False, **options):
    model = getattr(nn, kind)(INPUTS, HIDDEN, batch_first=True,
                              **options).double()
    for p in model.parameters():
        p.data = p.data.float().double()
    x = float64(*([STEPS, INPUTS] if alone else [BATCH, STEPS, INPUTS]))
    leaves, first = {"x": x}, None
    count = model.num_layers * (2 if model.bidirectional else 1)
    if state:
        shape = [count, HIDDEN] if alone else [count, BATCH, HIDDEN]
        names = ["h", "c"][:2 if kind == "LSTM" else 1]
        given = [float64(*shape) for _ in names]
        leaves.update(zip(names, given))
        first = tuple(given) if kind == "LSTM" else given[0]
    stored = {"input." + key: t for key, t in leaves.items()}
    if lengths is None:
        out, last = model(x, first)
    else:
        stored["input.lengths"] = torch.tensor(lengths)
        packed = pack_padded_sequence(x, lengths, batch_first=True,
                                      enforce_sorted=False)
        packed, last = model(packed, first)
        out, _ = pad_packed_sequence(packed, batch_first=True,
                                     total_length=STEPS)
    outputs = dict(zip(["out", "h_last", "c_last"], [out, *parts(last)]))
    for key, p in model.named_parameters():
        stored["weight." + key] = p
        leaves[key] = p
    add_gradients(stored, outputs, leaves)
    write(f"nn_{name}", "recurrent", stored,
          {"kind": kind, "inputs": INPUTS, "hidden": HIDDEN, **options},
          what=kind)


def cell(name, kind, **options):
    model = getattr(nn, kind + "Cell")(INPUTS, HIDDEN, **options).double()
    for p in model.parameters():
        p.data = p.data.float().double()
    names = ["h", "c"][:2 if kind == "LSTM" else 1]
    leaves = {"x": float64(BATCH, INPUTS)}
    given = [float64(BATCH, HIDDEN) for _ in names]
    leaves.update(zip(names, given))
    stored = {"input." + key: t for key, t in leaves.items()}
    state = model(leaves["x"], tuple(given) if len(given) > 1 else given[0])
    for key, p in model.named_parameters():
        stored["weight." + key] = p
        leaves[key] = p
    add_gradients(stored, dict(zip(["h_last", "c_last"], parts(state))),
                  leaves)
    write(f"nn_{name}_cell", "recurrent_cell", stored,
          {"kind": kind, "inputs": INPUTS, "hidden": HIDDEN, **options},
          what=kind + "Cell")


torch.manual_seed(6)
for kind, options in (("LSTM", {}), ("GRU", {}), ("RNN", {}),
                      ("RNN", {"nonlinearity": "relu"})):
    name = options.get("nonlinearity", kind.lower())
    layer(name, kind, **options)
    layer(f"{name}_state", kind, state=True, **options)
    layer(f"{name}_nobias", kind, bias=False, **options)
    layer(f"{name}_lengths", kind, lengths=[2, 5, 1], state=True, **options)
    layer(f"{name}_deep", kind, state=True, num_layers=2, bidirectional=True,
          **options)
    layer(f"{name}_deep_lengths", kind, lengths=[5, 1, 3], num_layers=2,
          bidirectional=True, **options)
    layer(f"{name}_alone", kind, state=True, alone=True, bidirectional=True,
          **options)
    cell(name, kind, **options)
