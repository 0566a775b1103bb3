# SPDX-License-Identifier: Apache-2.0
"""Losses, images, norms, attention and recurrent layers."""

from builder import promoted
from recipes import recipe


@recipe("mse_loss")
def mse_loss(b, name):
    x = b.floating()
    y, sizes = (b.like(x.sizes, x.dtype), x.sizes) if b.chance(0.7) else b.broadcasting(
        x, b.partner_dtype(x))
    reduction = b.rng.choice(("mean", "sum", "none"))
    b.emit(name, (x, y), (sizes if reduction == "none" else (), promoted(x.dtype, y.dtype)),
           reduction=reduction)


@recipe("nll_loss", "cross_entropy", weight=1.5)
def class_loss(b, name):
    x = b.floating(low=1, high=4)
    classes = x.sizes[1] if len(x.sizes) > 1 else x.sizes[0]
    rest = x.sizes[:1] + x.sizes[2:] if len(x.sizes) > 1 else ()
    if name == "cross_entropy" and b.chance(0.2):
        targets = b.like(x.sizes, x.dtype)
    else:
        targets = b.indices(rest, classes)
    ignored = b.rng.randrange(classes) if classes and b.chance(0.2) else -100
    weight = b.like((classes,), x.dtype, requires_grad=False) if b.chance(0.3) else None
    reduction = b.rng.choice(("mean", "sum", "none"))
    given = {}
    if name == "cross_entropy":
        given["label_smoothing"] = b.rng.choice((0.0, 0.0, 0.1, 1.0))
    b.emit(name, (x, targets, weight), (rest if reduction == "none" else (), x.dtype),
           ignore_index=ignored, reduction=reduction, **given)


def image(b, low=4):
    return b.floating(low=low, high=4)


def pair(b, low, high):
    return [b.rng.randint(low, high), b.rng.randint(low, high)]


def window(n, kernel, stride, padding, dilation=1, ceil_mode=False):
    """The number of windows, or None if unknown."""
    room = n + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        return None
    count = -(-room // stride) + 1 if ceil_mode else room // stride + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    return count


@recipe("conv2d", weight=2)
def conv2d(b, name):
    x = image(b)
    groups = x.sizes[1] if x.sizes[1] and b.chance(0.3) else 1
    kernel, stride, padding, dilation = pair(b, 1, 3), pair(b, 1, 2), pair(b, 0, 2), pair(b, 1, 2)
    out = groups * b.rng.randint(1, 3)
    weight = b.like((out, x.sizes[1] // groups, *kernel), x.dtype)
    bias = b.like((out,), x.dtype) if b.chance(0.5) else None
    sizes = [window(x.sizes[2 + i], kernel[i], stride[i], padding[i], dilation[i])
             for i in range(2)]
    result = [] if None in sizes else [(x.sizes[0], out, *sizes)]
    emit_image(b, name, (x, weight, bias), x, result, stride=stride, padding=padding,
               dilation=dilation, groups=groups)


def emit_image(b, name, of, x, result, **attributes):
    """Also emits windows that do not fit: both sides must refuse them."""
    made = b.emit(name, of, (result[0] if result else (), x.dtype), **attributes)
    if not result and made[0] in b.known:
        b.known.remove(made[0])


@recipe("max_pool2d", "avg_pool2d")
def pool(b, name):
    x = image(b, low=3)
    kernel, stride = pair(b, 1, 3), pair(b, 1, 2)
    padding = [b.rng.randint(0, k // 2) for k in kernel]
    dilation = pair(b, 1, 2) if name == "max_pool2d" and b.chance(0.3) else [1, 1]
    ceil_mode = b.chance(0.4)
    sizes = [window(x.sizes[-2 + i], kernel[i], stride[i], padding[i], dilation[i], ceil_mode)
             for i in range(2)]
    result = [] if None in sizes else [(*x.sizes[:-2], *sizes)]
    given = {"dilation": dilation} if name == "max_pool2d" else {
        "count_include_pad": b.chance(0.5)}
    emit_image(b, name, (x,), x, result, kernel=kernel, stride=stride, padding=padding,
               ceil_mode=ceil_mode, **given)


@recipe("adaptive_avg_pool2d")
def adaptive(b, name):
    x = image(b, low=3)
    size = pair(b, 1, 4)
    b.emit(name, (x,), ((*x.sizes[:-2], *size), x.dtype), size=size)


@recipe("batch_norm", weight=1.5)
def batch_norm(b, name):
    x = b.floating(low=2)
    channels = (x.sizes[1],)
    training = b.chance(0.6)
    running = not training or b.chance(0.5)
    mean = b.leaf(channels, x.dtype, requires_grad=False) if running else None
    var = b.leaf(channels, x.dtype, [b.rng.randint(1, 40) / 16 for _ in range(channels[0])],
                 requires_grad=False) if running else None
    affine = b.chance(0.7)
    weight, bias = (b.like(channels, x.dtype) if affine else None for _ in range(2))
    b.emit(name, (x, mean, var, weight, bias), (x.sizes, x.dtype), training=training,
           momentum=b.rng.choice((0.1, 0.5, 0.0, 1.0)), eps=1e-3)


@recipe("layer_norm", weight=1.5)
def layer_norm(b, name):
    x = b.floating(low=1)
    shape = x.sizes[-b.rng.randint(1, len(x.sizes)):]
    weight = b.like(shape, x.dtype) if b.chance(0.6) else None
    bias = b.like(shape, x.dtype) if b.chance(0.5) else None
    b.emit(name, (x, weight, bias), (x.sizes, x.dtype), normalized_shape=list(shape), eps=1e-3)


@recipe("scaled_dot_product_attention", weight=2)
def attention(b, name):
    q = b.floating(low=2, high=4)
    keys, width, batch = b.size(), b.size(), q.sizes[:-2]
    gqa = len(batch) > 0 and b.chance(0.3)
    heads = batch
    if gqa:
        divisors = [n for n in range(1, batch[-1] + 1) if batch[-1] % n == 0] or [0]
        heads = (*batch[:-1], b.rng.choice(divisors))
    k = b.like((*heads, keys, q.sizes[-1]), q.dtype)
    v = b.like((*heads, keys, width), q.dtype)
    causal = b.chance(0.3)
    mask = None
    if not causal and b.chance(0.5):
        lead = [n if b.chance(0.5) else 1 for n in batch] if b.chance(0.5) else []
        mask = b.like((*lead, q.sizes[-2], keys), b.rng.choice(("bool", q.dtype)))
    b.emit(name, (q, k, v, mask), ((*batch, q.sizes[-2], width), q.dtype), is_causal=causal,
           dropout_p=0.0, scale=b.rng.choice((None, None, 0.5, 2.0)), enable_gqa=gqa)


@recipe("rotary_embedding")
def rotary_embedding(b, name):
    x = b.floating(low=2, fits=lambda k: k.sizes[-1] % 2 == 0)
    b.emit(name, (x,), (x.sizes, x.dtype), base=b.rng.choice((2.0, 10000.0)),
           offset=b.rng.randint(0, 3), interleaved=b.chance(0.5))


@recipe("lstm", weight=1.5)
def lstm(b, name):
    x = b.floating(low=3, high=3)
    steps, batch, width = x.sizes
    hidden = b.rng.randint(1, 3)
    state = [b.like((batch, hidden), x.dtype) for _ in range(2)]
    weights = [b.like((4 * hidden, n), x.dtype) for n in (width, hidden)]
    biases = [b.like((4 * hidden,), x.dtype) for _ in range(2)] if b.chance(0.6) else [None] * 2
    b.emit(name, (x, *state, *weights, *biases), ((steps, batch, hidden), x.dtype),
           ((batch, hidden), x.dtype), ((batch, hidden), x.dtype))
