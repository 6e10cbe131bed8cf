"""Cases of bench/training.lua with PyTorch, and both beside each other.

    python bench/training_torch.py [threads] [heed program] [rounds]

Run it with OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE unset, and so that PyTorch
keeps its heap: MALLOC_MMAP_THRESHOLD_=4294967296
MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=67108864 MALLOC_ARENA_MAX=2.
Behind the times stands the largest resident size of a process that does one
case alone; of PyTorch's, what its import takes is told too.
"""

import subprocess
import sys

import torch
from torch import nn
from torch.nn import functional as F

import harness

BATCH, LENGTH, VOCABULARY, WIDTH = 64, 16, 8000, 256


def attention():
    layer = nn.MultiheadAttention(512, 8, batch_first=True)
    x = torch.randn(32, 128, 512, requires_grad=True)
    up = torch.randn(32, 128, 512)

    def run():
        layer.zero_grad(set_to_none=True)
        x.grad = None
        layer(x, x, x, need_weights=False)[0].backward(up)
    return run


class Translator(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.source = nn.Embedding(VOCABULARY, WIDTH)
        self.target = nn.Embedding(VOCABULARY, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 8, 3, 3, 1024, dropout,
                                          batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.ahead = nn.Transformer.generate_square_subsequent_mask(LENGTH)

    def forward(self, source, target):
        return self.head(self.transformer(
            self.source(source), self.target(target), tgt_mask=self.ahead,
            tgt_is_causal=True))


def translator(dropout):
    def tokens():
        return torch.randint(VOCABULARY, (BATCH, LENGTH))

    model = Translator(dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    source, target, label = tokens(), tokens(), tokens().flatten()

    def run():
        optimizer.zero_grad(set_to_none=True)
        logits = model(source, target)
        F.cross_entropy(logits.flatten(0, 1), label).backward()
        optimizer.step()
    return run


MAKE = {"attention": attention, "translator": lambda: translator(0.0),
        "translator dropout 0.1": lambda: translator(0.1)}


def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status
                    if line.startswith("VmHWM:"))


def memory(name, threads):
    torch.set_num_threads(threads)
    before = peak()
    run = MAKE[name]()
    for _ in range(5):
        run()
    print(f"{peak():.1f} {before:.1f}")


def ask(*command):
    return [float(x) for x in subprocess.check_output(command).split()]


def main():
    torch.manual_seed(1)
    threads, program, _ = harness.arguments()
    made = {}

    def case(name):
        def run():
            made.setdefault(name, None)
            made[name] = made[name] or MAKE[name]()
            made[name]()
        return run

    harness.compare("bench/training.lua", {name: case(name) for name in MAKE})
    print("largest resident size in MiB")
    for name in MAKE:
        ours, = ask(program, "bench/training.lua", str(threads), "memory",
                    name)
        theirs, before = ask(sys.executable, __file__, "memory", name,
                             str(threads))
        print(f"{name:32} heed {ours:8.1f}  torch {theirs:8.1f}, of it "
              f"{before:.1f} by its import")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "memory":
        memory(sys.argv[2], int(sys.argv[3]))
    else:
        main()
