"""Writes the files beside it, with NumPy, safetensors and PyTorch.

    pip install numpy safetensors torch
    python spec/files/golden/make.py

spec/files/numpy_spec.lua says what must be read from them; the targets of
spec/fuzz start from them.
"""
import json
import pathlib
import warnings

import numpy as np
import torch
from numpy.lib import format as npy
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent


def path(name):
    return str(here / name)


grid = np.arange(6).reshape(2, 3) - 2  # -2 .. 3, row by row

for kind in ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8", "<i2", "<i4", "<i8",
             ">i2", ">i4", ">i8", "|i1"]:
    order = {"<": "little", ">": "big", "|": "one"}[kind[0]]
    np.save(path(f"{order}_{kind[1:]}.npy"), grid.astype(kind))
for kind in ["|u1", "<u2", "<u4", "<u8", ">u4", ">u8"]:
    order = {"<": "little", ">": "big", "|": "one"}[kind[0]]
    np.save(path(f"{order}_{kind[1:]}.npy"), (grid + 2).astype(kind))
np.save(path("bool.npy"), grid > 0)
np.save(path("u8_top.npy"), np.array([2**64 - 1], "u8"))

np.save(path("fortran.npy"), np.asfortranarray(grid.astype("f4")))
np.save(path("fortran_3d.npy"),
        np.asfortranarray(np.arange(24, dtype=">i2").reshape(2, 3, 4)))
np.save(path("vector.npy"), np.arange(10))
np.save(path("scalar.npy"), np.float32(2.5))
np.save(path("empty.npy"), np.zeros((0, 3), "f4"))
for version in [2, 3]:
    with open(path(f"version_{version}.npy"), "wb") as file, \
            warnings.catch_warnings():
        warnings.simplefilter("ignore")
        npy.write_array(file, grid.astype("f4"), version=(version, 0))

np.save(path("refused_object.npy"), np.array([{}, 1], object))
np.save(path("refused_record.npy"), np.zeros(2, [("a", "f4"), ("b", "i8")]))
np.save(path("refused_complex.npy"), np.zeros(2, "c8"))
np.save(path("refused_text.npy"), np.array(["abc", "d"]))
np.save(path("refused_bytes.npy"), np.array([b"abc", b"d"]))
np.save(path("refused_date.npy"), np.zeros(2, "M8[ns]"))
np.save(path("refused_long.npy"), np.zeros(2, np.longdouble))

arrays = {"weight": grid.astype("f4"), "a/é": np.asfortranarray(grid),
          "flag": np.array(True), "empty": np.zeros((3, 0))}
np.savez(path("stored.npz"), **arrays)
np.savez_compressed(path("deflated.npz"), **arrays)
np.savez(path("positions.npz"), np.arange(3), np.ones(2, "f2"))

kinds = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32",
         "uint64", "int64", "float16", "bfloat16", "float32", "float64"]
tensors = {}
for name in kinds:
    values = grid > 0 if name == "bool" else grid + 2 * name.startswith("u")
    tensors[name] = torch.tensor(values.tolist(),
                                 dtype=getattr(torch, name))
save_file(tensors, path("kinds.safetensors"), {"made_by": "safetensors"})

# two shards and their index
index = {"metadata": {"total_size": 40}, "weight_map": {}}
for i, names in enumerate([["a", "b"], ["c"]], 1):
    file = f"sharded-{i:05}-of-00002.safetensors"
    save_file({n: torch.full((2,), ord(n) - 96.0) for n in names}, path(file))
    index["weight_map"].update({n: file for n in names})
(here / "sharded.safetensors.index.json").write_text(json.dumps(index))
