"""Steps of PyTorch's optimisers beside heed's: see bench/optim.lua. The share
is of what bench/bandwidth.c reads from memory as the same bytes."""

import torch
from torch.optim.swa_utils import get_ema_multi_avg_fn

from harness import compare

torch.manual_seed(1)
TENSORS, SIDE = 200, 316
N = TENSORS * SIDE * SIDE


def make(side):
    params = []
    for _ in range(TENSORS):
        p = torch.nn.Parameter(torch.randn(side, side))
        p.grad = torch.randn(side, side)
        params.append(p)
    return params


params, small = make(SIDE), make(8)

# name: floats moved for each element, class, settings of the fastest form
LIST = {
    "AdamW": (7, torch.optim.AdamW, {"fused": True}),
    "Adam": (7, torch.optim.Adam, {"fused": True}),
    "SGD": (3, torch.optim.SGD, {"fused": True}),
    "SGD momentum": (5, torch.optim.SGD, {"momentum": 0.9, "fused": True}),
    "Adamax": (7, torch.optim.Adamax, {"foreach": True}),
    "RMSprop": (5, torch.optim.RMSprop, {"foreach": True}),
    "Adagrad": (5, torch.optim.Adagrad, {"fused": True}),
    "Adafactor": (6, torch.optim.Adafactor, {"foreach": True}),
}


class Stepper:
    """An optimiser made when its turn comes: of all the state would be GBs."""

    at, optimizer = None, None

    def __call__(self, name, kind, options):
        if Stepper.at != name:
            Stepper.at, Stepper.optimizer = name, None
            Stepper.optimizer = kind(params, **options)
            Stepper.optimizer.step()
        Stepper.optimizer.step()


stepper = Stepper()
CASES = {name: (2, lambda n=name, k=kind, o=options: stepper(n, k, o))
         for name, (_, kind, options) in LIST.items()}
each = {"AdamW": (2, lambda: stepper("foreach", torch.optim.AdamW,
                                     {"foreach": True}))}
tiny = torch.optim.AdamW(small, fused=True)
CASES["AdamW, 200 of 8 x 8"] = (50, tiny.step)
averages = [p.detach().clone() for p in params]
ema = get_ema_multi_avg_fn(0.999)
CASES["moving average"] = lambda: ema(averages, [p.detach() for p in params],
                                      1)
CASES["clip_grad_norm_"] = lambda: torch.nn.utils.clip_grad_norm_(params,
                                                                  1e-3)
TRAFFIC = {name: 4 * case[0] * N for name, case in LIST.items()}
TRAFFIC["moving average"] = TRAFFIC["clip_grad_norm_"] = 12 * N

# the first case also in the form that goes over the tensors op by op
foreach = {name: each.get(name, case) for name, case in CASES.items()}
compare("bench/optim.lua", CASES, traffic=TRAFFIC,
        others={"torch foreach": foreach})
