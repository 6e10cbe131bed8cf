"""Layers of PyTorch beside heed's: see bench/layers.lua."""

import torch
import torch.nn.functional as F

from harness import compare

torch.manual_seed(1)
CASES = {}


def add(name, shape, parameters, f, count=1):
    x = torch.randn(shape)
    given = [torch.randn(p) * 0.1 for p in parameters]

    def plain():
        with torch.no_grad():
            return f(x, *given)

    leaves = [t.clone().requires_grad_() for t in (x, *given)]
    with torch.no_grad():
        grad = torch.randn(f(x, *given).shape)

    def gradients():
        f(*leaves).backward(grad)
        for t in leaves:
            t.grad = None

    CASES[name] = (count, plain)
    CASES[name + ", gradients"] = (count, gradients)


def conv(**options):
    return lambda x, w, b: (F.conv1d if x.ndim == 3 else F.conv2d)(
        x, w, b, **options)


add("conv2d 1-32 3x3 of 28x28", (64, 1, 28, 28), [(32, 1, 3, 3), (32,)],
    conv(padding=1))
add("conv2d 32-64 3x3 of 28x28", (64, 32, 28, 28), [(64, 32, 3, 3), (64,)],
    conv(padding=1))
add("conv2d 64-64 3x3 of 14x14", (64, 64, 14, 14), [(64, 64, 3, 3), (64,)],
    conv(padding=1))
add("conv2d 32-64 3x3, stride 2", (64, 32, 28, 28), [(64, 32, 3, 3), (64,)],
    conv(padding=1, stride=2))
add("conv2d 64-128 1x1 of 14x14", (64, 64, 14, 14), [(128, 64, 1, 1), (128,)],
    conv())
add("conv2d 3-16 5x5 of 32x32", (64, 3, 32, 32), [(16, 3, 5, 5), (16,)],
    conv(padding=2))
add("conv2d of channels 64 3x3", (64, 64, 14, 14), [(64, 1, 3, 3), (64,)],
    conv(padding=1, groups=64))
add("conv2d in 4 groups", (64, 64, 14, 14), [(64, 16, 3, 3), (64,)],
    conv(padding=1, groups=4))
add("conv1d 256-256 k3 of 512", (32, 256, 512), [(256, 256, 3), (256,)],
    conv(padding=1))
add("conv_transpose2d 64-32 2x2", (64, 64, 14, 14), [(64, 32, 2, 2), (32,)],
    lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2))

IMAGES = (64, 32, 28, 28)
add("max_pool2d 2", IMAGES, [], lambda x: F.max_pool2d(x, 2))
add("max_pool2d 3, stride 2", IMAGES, [],
    lambda x: F.max_pool2d(x, 3, stride=2, padding=1))
add("avg_pool2d 2", IMAGES, [], lambda x: F.avg_pool2d(x, 2))
add("adaptive_avg_pool2d 1", IMAGES, [],
    lambda x: F.adaptive_avg_pool2d(x, 1))


def batch_norm(x, w, b):
    return F.batch_norm(x, None, None, w, b, training=True)


add("batch_norm of images", IMAGES, [(32,), (32,)], batch_norm)
add("batch_norm [1024 512]", (1024, 512), [(512,), (512,)], batch_norm)
add("group_norm 8", IMAGES, [(32,), (32,)],
    lambda x, w, b: F.group_norm(x, 8, w, b))
add("layer_norm [4096 512]", (4096, 512), [(512,), (512,)],
    lambda x, w, b: F.layer_norm(x, (512,), w, b))
add("rms_norm [4096 512]", (4096, 512), [(512,)],
    lambda x, w: F.rms_norm(x, (512,), w, 1e-6))

compare("bench/layers.lua", CASES)
