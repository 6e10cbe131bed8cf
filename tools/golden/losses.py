"""Reference cases of the losses: python tools/golden/losses.py [folder]"""

import torch
from torch.nn import functional as F

from case import add_gradients, float64, leaf, write


def loss(name, function, module, inputs, options=None, tensors=None,
         labels=(), skip=(), atol=2e-6):
    """A case of F.function(*inputs, **options, **tensors); `labels` are inputs
    and options that count from 0, `skip` inputs without a gradient."""
    options, tensors = options or {}, tensors or {}
    given = {**inputs, **tensors}
    for x in given.values():
        x.grad = None
    y = getattr(F, function)(*inputs.values(), **options, **tensors)
    stored = {"input." + key: t for key, t in given.items()}
    leaves = {key: t for key, t in given.items()
              if t.requires_grad and key not in skip}
    add_gradients(stored, {"out": y}, leaves)
    write(f"nn_loss_{name}", "loss", stored, {
        "function": function, "module": module, "inputs": list(inputs),
        "options": options, "tensors": list(tensors), "labels": list(labels),
    }, what=function, atol=atol)


def each_reduction(name, function, module, inputs, options=None, **more):
    for how in ("mean", "sum", "none"):
        loss(f"{name}_{how}", function, module, inputs,
             {**(options or {}), "reduction": how}, **more)


def probabilities(*shape):
    return leaf(torch.rand(*shape) * 0.98 + 0.01)


def signs(*shape):
    return torch.randint(0, 2, shape).double() * 2 - 1


def classes():
    x, w = float64(4, 5), torch.rand(5).double() + 0.5
    soft = leaf(torch.softmax(torch.randn(4, 5), -1))
    entropy = "cross_entropy", "CrossEntropyLoss"
    each_reduction("cross_entropy_soft", *entropy, {"x": x, "target": soft})
    loss("cross_entropy_soft_weight_smooth", *entropy,
         {"x": x, "target": soft}, {"label_smoothing": 0.2},
         tensors={"weight": w})
    loss("cross_entropy_soft_image", *entropy,
         {"x": float64(2, 3, 2, 2),
          "target": leaf(torch.softmax(torch.randn(2, 3, 2, 2), 1))},
         tensors={"weight": torch.rand(3).double() + 0.5})
    loss("cross_entropy_soft_single", *entropy,
         {"x": float64(5), "target": leaf(torch.softmax(torch.randn(5), 0))})
    loss("cross_entropy_image", *entropy,
         {"x": float64(2, 3, 2, 2), "target": torch.randint(0, 3, (2, 2, 2))},
         {"label_smoothing": 0.1}, labels=["target"],
         tensors={"weight": torch.rand(3).double() + 0.5})
    y = torch.tensor([1, 4, 0, 2])
    nll = "nll_loss", "NLLLoss"
    each_reduction("nll", *nll, {"x": leaf(torch.log_softmax(x, -1)),
                                 "target": y}, labels=["target"])
    each_reduction("nll_weight_ignore", *nll,
                   {"x": leaf(torch.log_softmax(x, -1)), "target": y},
                   {"ignore_index": 4}, tensors={"weight": w},
                   labels=["target", "ignore_index"])
    loss("nll_image", *nll,
         {"x": float64(2, 3, 2, 2), "target": torch.randint(0, 3, (2, 2, 2))},
         labels=["target"])
    loss("nll_single", *nll, {"x": float64(3), "target": torch.tensor(2)},
         labels=["target"])


def binary():
    x, t = float64(3, 4), probabilities(3, 4)
    w, p = torch.rand(4).double(), torch.rand(4).double() + 0.5
    logits = "binary_cross_entropy_with_logits", "BCEWithLogitsLoss"
    each_reduction("bce_logits_weights", *logits, {"x": x, "target": t},
                   tensors={"weight": w, "pos_weight": p})
    loss("bce_logits_far", *logits,
         {"x": leaf(torch.tensor([-200.0, -30, 0, 30, 200])),
          "target": leaf(torch.tensor([1.0, 0, 1, 0, 0]))},
         {"reduction": "none"})
    bce = "binary_cross_entropy", "BCELoss"
    each_reduction("bce", *bce, {"x": probabilities(3, 4), "target": t})
    loss("bce_weight", *bce, {"x": probabilities(3, 4), "target": t},
         tensors={"weight": w})
    loss("bce_ends", *bce,
         {"x": leaf(torch.tensor([0.0, 0, 1, 1, 0.5])),
          "target": torch.tensor([0.0, 1, 0, 1, 0.25]).double()},
         {"reduction": "none"})
    kl = "kl_div", "KLDivLoss"
    log_x = leaf(torch.log_softmax(torch.randn(3, 4), -1))
    for how in ("batchmean", "mean", "sum", "none"):
        loss(f"kl_{how}", *kl, {"x": log_x, "target": t}, {"reduction": how})
        loss(f"kl_log_{how}", *kl,
             {"x": log_x, "target": leaf(torch.log(t))},
             {"reduction": how, "log_target": True})
    loss("kl_zeros", *kl,
         {"x": log_x, "target": torch.tensor([[0, 0.5, 0.5, 0]]).double()
          .expand(3, 4)}, {"reduction": "batchmean"})


def numbers():
    x, t = float64(3, 4), float64(3, 4)
    each_reduction("mse", "mse_loss", "MSELoss", {"x": x, "target": t})
    each_reduction("l1", "l1_loss", "L1Loss", {"x": x, "target": t})
    smooth = "smooth_l1_loss", "SmoothL1Loss"
    each_reduction("smooth_l1", *smooth, {"x": x, "target": t})
    loss("smooth_l1_beta", *smooth, {"x": x, "target": t}, {"beta": 0.4})
    loss("smooth_l1_zero", *smooth, {"x": x, "target": t}, {"beta": 0.0})
    huber = "huber_loss", "HuberLoss"
    each_reduction("huber", *huber, {"x": x, "target": t})
    loss("huber_delta", *huber, {"x": x, "target": t}, {"delta": 0.4})
    counts = torch.randint(0, 5, (3, 4)).double()
    poisson = "poisson_nll_loss", "PoissonNLLLoss"
    each_reduction("poisson", *poisson, {"x": x, "target": counts})
    loss("poisson_full", *poisson, {"x": x, "target": counts}, {"full": True})
    loss("poisson_rate", *poisson,
         {"x": probabilities(3, 4), "target": counts}, {"log_input": False})
    gaussian = "gaussian_nll_loss", "GaussianNLLLoss"
    each_reduction("gaussian", *gaussian,
                   {"x": x, "target": t, "var": probabilities(3, 4)})
    loss("gaussian_rows", *gaussian,
         {"x": x, "target": t, "var": probabilities(3)}, {"full": True})
    loss("gaussian_least", *gaussian,
         {"x": x, "target": t, "var": probabilities(3, 1)}, {"eps": 0.5})


def vectors():
    a, b, c = float64(4, 3), float64(4, 3), float64(4, 3)
    y = torch.tensor([1.0, -1, 1, -1]).double()
    cosine = "cosine_embedding_loss", "CosineEmbeddingLoss"
    each_reduction("cosine", *cosine, {"a": a, "b": b, "target": y})
    loss("cosine_margin", *cosine, {"a": a, "b": b, "target": y},
         {"margin": 0.3})
    loss("cosine_single", *cosine,
         {"a": float64(3), "b": float64(3), "target": torch.tensor(-1.0)
          .double()}, {"margin": -0.9})
    triplet = "triplet_margin_loss", "TripletMarginLoss"
    three = {"anchor": a, "positive": b, "negative": c}
    each_reduction("triplet", *triplet, three)
    loss("triplet_swap", *triplet, three, {"swap": True, "margin": 2.0})
    loss("triplet_p1", *triplet, three, {"p": 1.0, "margin": 3.0})
    each_reduction("ranking", "margin_ranking_loss", "MarginRankingLoss",
                   {"a": a, "b": b, "target": signs(4, 3)})
    loss("ranking_margin", "margin_ranking_loss", "MarginRankingLoss",
         {"a": a, "b": b, "target": signs(4, 3)}, {"margin": 0.5})
    each_reduction("hinge", "hinge_embedding_loss", "HingeEmbeddingLoss",
                   {"x": a, "target": signs(4, 3)})
    each_reduction("soft_margin", "soft_margin_loss", "SoftMarginLoss",
                   {"x": a, "target": signs(4, 3)})
    similarity(a, b)


def similarity(a, b):
    for dim in (0, 1):
        for x in (a, b):
            x.grad = None
        stored = {"input.a": a, "input.b": b}
        add_gradients(stored, {"out": F.cosine_similarity(a, b, dim)},
                      {"a": a, "b": b})
        write(f"nn_cosine_similarity_{dim}", "cosine_similarity", stored,
              {"dim": dim})


def sequences():
    """Gradients arrive at scores, through log_softmax: see F.ctc_loss."""
    y = torch.tensor([[1, 2, 2, 3], [3, 1, 1, 1], [2, 2, 2, 2]])
    steps, labels = torch.tensor([7, 5, 6]), torch.tensor([4, 2, 0])
    scores = float64(7, 3, 4)

    def ctc(name, targets, input_lengths, target_lengths, **options):
        scores.grad = None
        out = F.ctc_loss(torch.log_softmax(scores, -1), targets,
                         input_lengths, target_lengths, **options)
        stored = {"input.scores": scores, "input.targets": targets,
                  "input.input_lengths": input_lengths,
                  "input.target_lengths": target_lengths}
        add_gradients(stored, {"out": out}, {"scores": scores})
        write(f"nn_ctc_{name}", "ctc", stored, options, what="ctc_loss")

    for how in ("mean", "sum", "none"):
        ctc(how, y, steps, labels, reduction=how)
    ctc("joined", torch.tensor([1, 2, 2, 3, 3, 1]), steps, labels,
        reduction="none")
    ctc("blank", y - 1, steps, labels, reduction="none", blank=3)
    ctc("short", y, torch.tensor([4, 5, 6]), labels, reduction="none",
        zero_infinity=True)


torch.manual_seed(5)
classes()
binary()
numbers()
vectors()
sequences()
