# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools of 1, 2 and 3 dimensions."""

import math

from recipes import recipe


def image(b, dims, batched=False):
    """A tensor of images of so many dimensions, or of one image."""
    return b.floating(low=dims + (2 if batched else 1), high=dims + 2)


def dims_of(name):
    """Of max_pool2d or max_pool2d_with_indices: 2."""
    return int(name.removesuffix("_with_indices")[-2])


def sizes_of(b, dims, low, high):
    return [b.rng.randint(low, high) for _ in range(dims)]


def window(n, kernel, stride, padding, dilation=1, ceil_mode=False):
    """The number of windows, or None if unknown."""
    room = n + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        return None
    count = -(-room // stride) + 1 if ceil_mode else room // stride + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    return count


def emit_image(b, name, of, x, result, **attributes):
    """Also emits windows that do not fit: both sides must refuse them."""
    made = b.emit(name, of, (result[0] if result else (), x.dtype), **attributes)
    if not result and made[0] in b.known:
        b.known.remove(made[0])


def operands(b, x, dims, transposed):
    """The weight, the bias, the channels of the result, and the attributes of a convolution."""
    channels = x.sizes[-dims - 1]
    groups = channels if channels and b.chance(0.3) else 1
    of_group = b.rng.randint(1, 3)
    kernel = sizes_of(b, dims, 1, 3)
    first = channels if transposed else groups * of_group
    second = of_group if transposed else channels // groups
    weight = b.like((first, second, *kernel), x.dtype)
    out = groups * of_group
    bias = b.like((out,), x.dtype) if b.chance(0.5) else None
    return weight, bias, out, {"stride": sizes_of(b, dims, 1, 2),
                               "padding": sizes_of(b, dims, 0, 2),
                               "dilation": sizes_of(b, dims, 1, 2), "groups": groups}


@recipe("conv1d", "conv2d", "conv3d")
def convolution(b, name):
    dims = int(name[-2])
    x = image(b, dims, batched=True)
    weight, bias, out, given = operands(b, x, dims, False)
    if b.chance(0.2):
        given["padding"] = b.rng.choice(("same", "valid"))
        given["stride"] = [1] * dims if b.chance(0.9) else given["stride"]
    if given["padding"] == "same":
        sizes = x.sizes[2:] if max(given["stride"]) == 1 and min(x.sizes[2:]) else [None]
    else:
        padding = [0] * dims if given["padding"] == "valid" else given["padding"]
        sizes = [window(x.sizes[2 + i], weight.sizes[2 + i], given["stride"][i], padding[i],
                        given["dilation"][i]) for i in range(dims)]
    result = [] if None in sizes else [(x.sizes[0], out, *sizes)]
    emit_image(b, name, (x, weight, bias), x, result, **given)


@recipe("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed(b, name):
    dims = int(name[-2])
    x = image(b, dims, batched=True)
    weight, bias, out, given = operands(b, x, dims, True)
    given["output_padding"] = [b.rng.randint(0, max(given["stride"][i], given["dilation"][i]) - 1)
                               for i in range(dims)]
    sizes = [(x.sizes[2 + i] - 1) * given["stride"][i] - 2 * given["padding"][i]
             + given["dilation"][i] * (weight.sizes[2 + i] - 1) + given["output_padding"][i] + 1
             for i in range(dims)]
    result = [] if min(sizes) < 1 else [(x.sizes[0], out, *sizes)]
    emit_image(b, name, (x, weight, bias), x, result, **given)


LINEAR = ("linear", "bilinear", "trilinear")
LARGEST = [f"{kind}max_pool{dims}d{end}" for kind in ("", "adaptive_") for dims in (1, 2, 3)
           for end in ("", "_with_indices")]
FRACTIONAL = [f"fractional_max_pool{dims}d{end}" for dims in (2, 3)
              for end in ("", "_with_indices")]


def emit_pool(b, name, x, result, **attributes):
    """Also emits the indices of the largest."""
    if not name.endswith("indices"):
        emit_image(b, name, (x,), x, result, **attributes)
    elif result:
        b.emit(name, (x,), (result[0], x.dtype), (result[0], "int64"), **attributes)


@recipe(*[name for name in LARGEST if not name.startswith("adaptive")],
        *[f"avg_pool{dims}d" for dims in (1, 2, 3)], weight=0.5)
def pool(b, name):
    dims = dims_of(name)
    x = image(b, dims)
    kernel, stride = sizes_of(b, dims, 1, 3), sizes_of(b, dims, 1, 2)
    padding = [b.rng.randint(0, k // 2) for k in kernel]
    largest = name.startswith("max")
    dilation = sizes_of(b, dims, 1, 2) if largest and b.chance(0.3) else [1] * dims
    if dims == 3 and max(dilation) > 1:
        # PyTorch's gradient of a window that misses the image would write outside of it.
        padding = [0] * dims
    ceil_mode = b.chance(0.4)
    sizes = [window(x.sizes[-dims + i], kernel[i], stride[i], padding[i], dilation[i], ceil_mode)
             for i in range(dims)]
    result = [] if None in sizes else [(*x.sizes[:-dims], *sizes)]
    if largest:
        given = {"dilation": dilation}
    else:
        divisor = b.rng.choice((None, None, 1, 3, -2)) if dims > 1 else None
        given = {"count_include_pad": b.chance(0.5), "divisor": divisor}
    emit_pool(b, name, x, result, kernel=kernel, stride=stride, padding=padding,
              ceil_mode=ceil_mode, **given)


@recipe(*[name for name in LARGEST if name.startswith("adaptive")],
        *[f"adaptive_avg_pool{dims}d" for dims in (1, 2, 3)], weight=0.5)
def adaptive(b, name):
    dims = dims_of(name)
    x = image(b, dims)
    size = sizes_of(b, dims, 1, 4)
    emit_pool(b, name, x, [(*x.sizes[:-dims], *size)], size=size)


@recipe(*FRACTIONAL, weight=0.5)
def fractional(b, name):
    dims = dims_of(name)
    x = image(b, dims)
    # PyTorch's pool of 3 dimensions wants one element more.
    spare = 1 if dims == 3 and b.chance(0.9) else 0
    if min(x.sizes[-dims:]) <= spare:
        return
    kernel = [b.rng.randint(1, min(n - spare, 3)) for n in x.sizes[-dims:]]
    size = [b.rng.randint(1, n - k + 1 - spare) for n, k in zip(x.sizes[-dims:], kernel)]
    batch = (1, *x.sizes[:-dims])[-2:]
    shares = [b.rng.randint(0, 63) / 64 for _ in range(math.prod(batch) * dims)]
    samples = b.leaf((*batch, dims), x.dtype, shares, requires_grad=False)
    result, given = (*x.sizes[:-dims], *size), {"kernel": kernel, "size": size, "ratio": None}
    if name.endswith("indices"):
        b.emit(name, (x, samples), (result, x.dtype), (result, "int64"), **given)
    else:
        b.emit(name, (x, samples), (result, x.dtype), **given)


@recipe("lp_pool1d", "lp_pool2d", "lp_pool3d", weight=0.5)
def lp_pool(b, name):
    dims = dims_of(name)
    x = image(b, dims)
    kernel, stride = sizes_of(b, dims, 1, 3), sizes_of(b, dims, 1, 2)
    ceil_mode = b.chance(0.4)
    sizes = [window(x.sizes[-dims + i], kernel[i], stride[i], 0, 1, ceil_mode)
             for i in range(dims)]
    emit_image(b, name, (x,), x, [] if None in sizes else [(*x.sizes[:-dims], *sizes)],
               power=b.rng.choice((1.0, 2.0, 3.0)), kernel=kernel, stride=stride,
               ceil_mode=ceil_mode)


@recipe("max_unpool1d", "max_unpool2d", "max_unpool3d", weight=0.5)
def max_unpool(b, name):
    dims = dims_of(name)
    x = image(b, dims)
    kernel, stride = sizes_of(b, dims, 1, 3), sizes_of(b, dims, 1, 2)
    padding = [b.rng.randint(0, k // 2) for k in kernel]
    sizes = [(x.sizes[-dims + i] - 1) * stride[i] - 2 * padding[i] + kernel[i]
             for i in range(dims)]
    pixels = max(math.prod(sizes), 0)
    count = math.prod(x.sizes)
    # Distinct within an image: PyTorch does not say which of repeated indices wins.
    places = [(7 * i) % pixels if pixels else 0 for i in range(count)]
    indices = b.leaf(x.sizes, "int64", places)
    fits = min(sizes) > 0 and math.prod(x.sizes[-dims:]) <= pixels and pixels % 7
    if fits:
        emit_image(b, name, (x, indices), x, [(*x.sizes[:-dims], *sizes)], kernel=kernel,
                   stride=stride, padding=padding)


@recipe("interpolate", weight=2)
def interpolate(b, name):
    x = image(b, b.rng.randint(1, 3), batched=True)
    dims = len(x.sizes) - 2
    mode = b.rng.choice(["nearest", "nearest-exact", "area", LINEAR[dims - 1]]
                        + (["bicubic"] if dims == 2 else []))
    if b.chance(0.6):
        size, scale = sizes_of(b, dims, 1, 6), None
        sizes = size
    else:
        # Powers of two, whose inverses are exact.
        size, scale = None, [b.rng.choice((0.5, 1.0, 2.0, 4.0)) for _ in range(dims)]
        sizes = [int(n * factor) for n, factor in zip(x.sizes[2:], scale)]
    aligned = (b.chance(0.4) if mode in (*LINEAR, "bicubic") else None)
    emit_image(b, name, (x,), x, [(*x.sizes[:2], *sizes)] if min(sizes) > 0 else [], size=size,
               scale=scale, mode=mode, align_corners=aligned,
               antialias=mode in ("bilinear", "bicubic") and b.chance(0.4))


@recipe("grid_sample", weight=2)
def grid_sample(b, name):
    x = image(b, b.rng.randint(2, 3), batched=True)
    dims = len(x.sizes) - 2
    places = (x.sizes[0], *sizes_of(b, dims, 1, 3), dims)
    grid = b.leaf(places, x.dtype, [b.rng.randint(-23, 23) / 16 for _ in range(math.prod(places))])
    mode = b.rng.choice(("bilinear", "nearest") + (("bicubic",) if dims == 2 else ()))
    b.emit(name, (x, grid), ((*x.sizes[:2], *places[1:-1]), x.dtype), mode=mode,
           padding_mode=b.rng.choice(("zeros", "border", "reflection")),
           align_corners=b.chance(0.5))


@recipe("affine_grid")
def affine_grid(b, name):
    dims = b.rng.randint(2, 3)
    batch = b.rng.randint(1, 3)
    sizes = [batch, 1, *sizes_of(b, dims, 1, 4)]
    theta = b.like((batch, dims, dims + 1), b.some_dtype())
    b.emit(name, (theta,), ((batch, *sizes[2:], dims), theta.dtype), sizes=sizes,
           align_corners=b.chance(0.5))
