"""Makes the cases of the family optim that are stored in float64: run with
PyTorch 2.13 as

    python spec/golden/make_optim.py

which writes them beside itself. See README.md for their form."""

import json
import os
import struct

import torch
from torch.optim import lr_scheduler as sched
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

FOLDER = os.path.dirname(os.path.abspath(__file__))
SHAPES = {"a": (3, 4), "b": (5,), "c": (2, 3, 2), "s": ()}
STEPS = 6


def save(name, op, what, params, tensors):
    header, data, at = {}, b"", 0
    header["__metadata__"] = {
        "op": op, "family": "optim", "what": what,
        "params": json.dumps(params), "atol": "1e-12", "rtol": "1e-12",
        "computed_in": "float64",
        "notes": json.dumps([f"PyTorch {torch.__version__}"])}
    for key in sorted(tensors):
        t = tensors[key].detach().to(torch.float64).contiguous()
        raw = t.numpy().tobytes()
        header[key] = {"dtype": "F64", "shape": list(t.shape),
                       "data_offsets": [at, at + len(raw)]}
        data, at = data + raw, at + len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(FOLDER, name + ".safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def draw(shape, scale=1.0):
    return torch.randn(shape, dtype=torch.float64) * scale


def steps(name, algorithm, shapes="abcs", **options):
    """Parameters after each of a few steps with given gradients."""
    torch.manual_seed(len(name))
    weights = {n: draw(SHAPES[n]) for n in shapes}
    grads = {n: draw((STEPS, *SHAPES[n]), 0.5) for n in shapes}
    params = {n: torch.nn.Parameter(w.clone()) for n, w in weights.items()}
    optimizer = getattr(torch.optim, algorithm)(params.values(), **options)
    after = {n: [] for n in shapes}
    for s in range(STEPS):
        for n, p in params.items():
            p.grad = grads[n][s].clone()
        optimizer.step()
        for n, p in params.items():
            after[n].append(p.detach().clone())
    tensors = {f"weight.{n}": w for n, w in weights.items()}
    tensors |= {f"input.grads_{n}": g for n, g in grads.items()}
    tensors |= {f"output.after_{n}": torch.stack(a) for n, a in after.items()}
    save("optim_f64_" + name, "optim_" + algorithm.lower(),
         f"Steps of {algorithm} with given gradients; row s of after_* is the "
         "parameter after step s+1.", options, tensors)


def rates(name, op, make, count=16, **params):
    """Rates and momenta of SGD in each step."""
    p = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = torch.optim.SGD([p], lr=params.setdefault("base_lr", 0.1),
                                momentum=0.9)
    schedule = make(optimizer)
    params |= {"steps": count, "max_momentum": 0.9}
    lr, momenta = [], []
    for t in range(count):
        lr.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if t < count - 1:
            if "metrics" in params:
                schedule.step(params["metrics"][t])
            else:
                schedule.step()
    save("sched_f64_" + name, "sched_" + op,
         "Entry t is the rate used in step t, from 0.", params,
         {"output.rates": torch.tensor(lr, dtype=torch.float64),
          "output.momenta": torch.tensor(momenta, dtype=torch.float64)})


def plain(name, op, make, count=16, **params):
    """A schedule whose arguments heed takes by the same names."""
    rates(name, op, lambda o: make(o, **params), count, options=params)


def plateau(name, metrics, **params):
    rates("plateau_" + name, "plateau",
          lambda o: sched.ReduceLROnPlateau(o, **params), len(metrics) + 1,
          options=params, metrics=metrics)


def average(name, decay):
    torch.manual_seed(3)
    model = torch.nn.Linear(3, 2, dtype=torch.float64)
    fn = None if decay is None else get_ema_multi_avg_fn(decay)
    averaged = AveragedModel(model, multi_avg_fn=fn)
    weights, after = draw((STEPS, 2, 3)), []
    for w in weights:
        with torch.no_grad():
            model.weight.copy_(w)
        averaged.update_parameters(model)
        after.append(averaged.module.weight.detach().clone())
    save("average_f64_" + name, "average",
         "Averages of weights after each update.", {"decay": decay},
         {"input.weights": weights, "output.after": torch.stack(after)})


steps("adam", "Adam", lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1,
      maximize=True)
steps("adamw", "AdamW", lr=0.05, betas=(0.8, 0.95), eps=1e-6,
      weight_decay=0.1, amsgrad=True, maximize=True)
steps("adamax", "Adamax")
steps("adamax_options", "Adamax", lr=0.1, betas=(0.7, 0.9), eps=1e-3,
      weight_decay=0.1, maximize=True)
steps("sgd", "SGD", lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1,
      maximize=True)
steps("rmsprop", "RMSprop", lr=0.05, alpha=0.8, eps=1e-4, weight_decay=0.1,
      maximize=True)
steps("rmsprop_centered", "RMSprop", lr=0.05, alpha=0.8, centered=True)
steps("rmsprop_momentum", "RMSprop", lr=0.05, momentum=0.7)
steps("rmsprop_all", "RMSprop", lr=0.05, alpha=0.9, momentum=0.7,
      centered=True, weight_decay=0.1)
steps("adagrad", "Adagrad", lr=0.1, lr_decay=0.2, weight_decay=0.1,
      initial_accumulator_value=0.3, eps=1e-3, maximize=True)
steps("adafactor", "Adafactor")
steps("adafactor_options", "Adafactor", lr=0.2, beta2_decay=-0.5,
      eps=(0.3, 0.5), d=1.5, weight_decay=0.1, maximize=True)

plain("step", "options_StepLR", sched.StepLR, step_size=3, gamma=0.5)
plain("multi_step", "options_MultiStepLR", sched.MultiStepLR,
      milestones=[2, 5, 5, 11], gamma=0.5)
plain("exponential", "options_ExponentialLR", sched.ExponentialLR, gamma=0.9)
plain("constant", "options_ConstantLR", sched.ConstantLR, factor=0.25,
      total_iters=4)
plain("linear", "options_LinearLR", sched.LinearLR, start_factor=0.2,
      end_factor=0.7, total_iters=6)
plain("polynomial", "options_PolynomialLR", sched.PolynomialLR, total_iters=9,
      power=1.7)
plain("cosine", "options_CosineAnnealingLR", sched.CosineAnnealingLR, T_max=6,
      eta_min=0.01)
plain("restarts", "options_CosineAnnealingWarmRestarts",
      sched.CosineAnnealingWarmRestarts, T_0=5, eta_min=0.01)
plain("restarts_3", "options_CosineAnnealingWarmRestarts",
      sched.CosineAnnealingWarmRestarts, 45, T_0=3, T_mult=3, eta_min=0.01)
plain("one_cycle", "options_OneCycleLR", sched.OneCycleLR, max_lr=0.4,
      total_steps=16, pct_start=0.4, div_factor=10.0, final_div_factor=50.0,
      base_momentum=0.8, max_momentum=0.9)
plain("one_cycle_three", "options_OneCycleLR", sched.OneCycleLR, max_lr=0.4,
      epochs=4, steps_per_epoch=4, pct_start=0.3, three_phase=True)
plain("one_cycle_still", "options_OneCycleLR", sched.OneCycleLR, max_lr=0.4,
      total_steps=16, anneal_strategy="linear", cycle_momentum=False)
rates("lambda", "lambda", lambda o: sched.LambdaLR(o, lambda t: 0.9 ** t))
rates("sequential", "sequential", lambda o: sched.SequentialLR(
    o, [sched.LinearLR(o, start_factor=0.1, total_iters=4),
        sched.CosineAnnealingLR(o, T_max=6),
        sched.ExponentialLR(o, 0.8)], [4, 10]))
rates("chained", "chained", lambda o: sched.ChainedScheduler(
    [sched.ConstantLR(o, factor=0.25, total_iters=4),
     sched.ExponentialLR(o, 0.9), sched.StepLR(o, 3, 0.5)]))
VALUES = [1.0, 0.9, 0.95, 0.91, 0.8999, 0.8, 0.85, 0.86, 0.87, 0.88, 0.9, 0.7,
          0.75, 0.76, 0.77, 0.78, 0.79, 0.8, 0.69, 0.7]
plateau("default", VALUES, patience=2)
plateau("max", [-v for v in VALUES], mode="max", factor=0.5, patience=1,
        threshold=0.2, threshold_mode="abs", cooldown=2)
plateau("max_rel", [2 - v for v in VALUES], mode="max", factor=0.5,
        patience=1, threshold=0.05)
plateau("least", VALUES, patience=0, factor=0.3, min_lr=0.002, eps=0.001,
        threshold=0.0, threshold_mode="abs")
average("ema", 0.9)
average("swa", None)
