# SPDX-License-Identifier: Apache-2.0
"""Losses, norms, attention and recurrent layers."""

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
