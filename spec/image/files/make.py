#!/usr/bin/env python3
"""Writes the files beside it, for spec/image, with PIL and PyTorch.

    python3 spec/image/files/make.py

Pictures are formulas of row y, column x and channel c, counted from 0:
    8 bits   (37 y + 91 x + 53 c + 7 x y) % 256
    16 bits  (9973 y + 31337 x + 12345 c + 7) % 65536
PNG files that PIL cannot write (16 bits with colour, interlaced, 2 and 4 bits)
are put together here by the specification; PIL reads back what it can.
What JPEG files decode to is kept as PPM, as PIL decodes them.
"""
import io
import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image

here = pathlib.Path(__file__).parent
W, H = 7, 5


def eight(h, w, c):
    y, x, k = np.mgrid[0:h, 0:w, 0:c]
    return ((37 * y + 91 * x + 53 * k + 7 * x * y) % 256).astype(np.uint8)


def sixteen(h, w, c):
    y, x, k = np.mgrid[0:h, 0:w, 0:c]
    return ((9973 * y + 31337 * x + 12345 * k + 7) % 65536).astype(np.uint16)


def chunk(kind, data):
    body = kind + data
    return (struct.pack(">I", len(data)) + body
            + struct.pack(">I", zlib.crc32(body)))


ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2),
         (0, 1, 2, 2), (1, 0, 2, 1)]  # first row, column; steps


def png(pixels, depth, color, interlaced=False, extra=b""):
    """The bytes of a PNG of samples [H W C], without filters."""
    h, w, _ = pixels.shape

    def rows(part):
        out = b""
        for row in part:
            flat = row.reshape(-1)
            if depth == 16:
                data = flat.astype(">u2").tobytes()
            elif depth == 8:
                data = flat.astype(np.uint8).tobytes()
            else:
                bits = "".join(format(int(v), f"0{depth}b") for v in flat)
                bits += "0" * (-len(bits) % 8)
                data = bytes(int(bits[i:i + 8], 2)
                             for i in range(0, len(bits), 8))
            out += b"\0" + data
        return out

    raw = b""
    if interlaced:
        for y, x, dy, dx in ADAM7:
            part = pixels[y::dy, x::dx]
            if part.size:
                raw += rows(part)
    else:
        raw = rows(pixels)
    head = struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def keep(name, data):
    assert len(data) < 2048, name
    (here / name).write_bytes(data)


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def read(data):
    return np.asarray(Image.open(io.BytesIO(data)))


# -- PNG -----------------------------------------------------------------------

keep("gray.png", saved(Image.fromarray(eight(H, W, 1)[:, :, 0]), "PNG"))
keep("gray_alpha.png", saved(Image.fromarray(eight(H, W, 2), "LA"), "PNG"))
keep("rgb.png", saved(Image.fromarray(eight(H, W, 3)), "PNG"))
keep("rgba.png", saved(Image.fromarray(eight(H, W, 4), "RGBA"), "PNG"))
keep("gray16.png", saved(Image.fromarray(sixteen(H, W, 1)[:, :, 0]), "PNG"))
keep("rgb16.png", png(sixteen(H, W, 3), 16, 2))
keep("rgba16_interlaced.png", png(sixteen(H, W, 4), 16, 6, True))

data = png(eight(H, W, 3), 8, 2, True)
assert (read(data) == eight(H, W, 3)).all()
keep("rgb_interlaced.png", data)

for depth in 1, 2, 4:
    data = png(eight(H, W, 1) % 2 ** depth, depth, 0)
    full = eight(H, W, 1)[:, :, 0] % 2 ** depth * (255 // (2 ** depth - 1))
    assert (np.asarray(Image.open(io.BytesIO(data)).convert("L"))
            == full).all()
    keep(f"gray{depth}.png", data)

# colour i of the palette is (i, 255 - i, 3 i); i = 2 is half transparent
palette = b"".join(bytes((i, 255 - i, 3 * i)) for i in range(16))
plte = chunk(b"PLTE", palette)
data = png(eight(H, W, 1) % 16, 4, 3, extra=plte)
index = eight(H, W, 1)[:, :, 0].astype(int) % 16
assert (np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        == np.stack([index, 255 - index, 3 * index], 2)).all()
keep("palette.png", data)
keep("palette_alpha.png", png(eight(H, W, 1) % 16, 4, 3,
                              extra=plte + chunk(b"tRNS", b"\xff\xff\x80")))
# the colour of the first pixel (0, 53, 106) is transparent
keep("rgb_key.png", png(eight(H, W, 3), 8, 2, extra=chunk(
    b"tRNS", struct.pack(">HHH", 0, 53, 106))))

# -- JPEG ----------------------------------------------------------------------

y, x, k = np.mgrid[0:12, 0:18, 0:3]
smooth = Image.fromarray((10 * y + 5 * x + 40 * k).astype(np.uint8))
for name, image, options in (
    ("gray", smooth.convert("L"), {}),
    ("color", smooth, {"quality": 80}),
    ("progressive", smooth, {"progressive": True}),
    ("sharp", smooth, {"subsampling": 0, "quality": 95}),
):
    data = saved(image, "JPEG", **options)
    keep(f"{name}.jpg", data)
    out = io.BytesIO()
    Image.open(io.BytesIO(data)).save(out, "PPM")
    keep(f"{name}_jpg.ppm", out.getvalue())
inks = Image.fromarray(np.concatenate(
    [np.asarray(smooth), 255 - np.asarray(smooth)[:, :, :1] // 2], 2), "CMYK")
data = saved(inks, "JPEG", quality=95, subsampling=0)
keep("cmyk.jpg", data)
c = np.asarray(Image.open(io.BytesIO(data))).astype(float)
light = (255 - c[:, :, :3]) * (255 - c[:, :, 3:]) / 255
out = io.BytesIO()
Image.fromarray(np.rint(light).astype(np.uint8)).save(out, "PPM")
keep("cmyk_jpg.ppm", out.getvalue())

# -- other sizes ---------------------------------------------------------------

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    raise SystemExit("resize.json needs torch: it stays as it was")

x = eight(H, W, 1)[:, :, 0]


def short(y):
    return [[round(v, 5) for v in row] for row in y.tolist()]


cases = []
for mode in "bilinear", "bicubic":
    for size in (3, 4), (9, 10), (5, 3), (1, 1), (8, 2):
        for antialias in True, False:
            y = F.interpolate(torch.tensor(x, dtype=torch.float64)[None, None],
                              size=size, mode=mode, antialias=antialias)
            cases.append({"mode": mode, "size": size, "antialias": antialias,
                          "values": short(y[0, 0])})
for size in (3, 4), (9, 10), (1, 1):
    y = F.interpolate(torch.tensor(x, dtype=torch.float64)[None, None],
                      size=size, mode="nearest-exact")
    cases.append({"mode": "nearest", "size": size, "antialias": True,
                  "values": short(y[0, 0])})
pil = []
for mode in "NEAREST", "BILINEAR", "BICUBIC":
    for size in (3, 4), (9, 10), (8, 2):
        y = Image.fromarray(x).resize(size[::-1], getattr(Image, mode))
        pil.append({"mode": mode.lower(), "size": size,
                    "values": np.asarray(y).tolist()})
(here / "resize.json").write_text(json.dumps({"torch": cases, "pil": pil})
                                  + "\n")
