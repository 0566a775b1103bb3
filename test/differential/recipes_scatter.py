# SPDX-License-Identifier: Apache-2.0
"""Writes to elements that indices or masks name."""

import math

from recipes import recipe
from recipes_shapes import replaced
from sources_scatter import REDUCE


def operand(b, name, **how):
    """Of any dtype for copies; a write to a leaf that requires grad is refused too often."""
    how.setdefault("fits", lambda k: 0 not in k.sizes)
    if name.endswith("_") and b.chance(0.8):
        wanted = how["fits"]
        how["fits"] = lambda k: wanted(k) and not (k.requires_grad and k.name in leaves)
        leaves = {s["as"][0] for s in b.statements if s["do"] == "leaf"}
    return b.floating(**how)


def distinct(b, count, below):
    return b.leaf((count,), "int64", b.rng.sample(range(below), count))


def emit(b, name, operands, x, **given):
    results = () if name.endswith("_") else ((x.sizes, x.dtype),)
    b.emit(name, operands, *results, **given)


@recipe("scatter", "scatter_number", "scatter_", "scatter_number_", "scatter_add_",
        "scatter_reduce", "scatter_reduce_", weight=0.5)
def scatter(b, name):
    x = operand(b, name, low=1)
    dim = b.dim(x) % len(x.sizes)
    sizes = [b.rng.randint(1, n) for n in x.sizes]
    number = {}
    if "add" in name or "reduce" in name:
        sizes[dim] = b.rng.randint(1, 4)
        indices = b.indices(sizes, x.sizes[dim])
    else:  # Distinct: PyTorch's order of writes is not defined.
        lines = math.prod(sizes) // sizes[dim]
        inner = math.prod(sizes[dim + 1:])
        picks = [b.rng.sample(range(x.sizes[dim]), sizes[dim]) for _ in range(lines)]
        values = [picks[at // (inner * sizes[dim]) * inner + at % inner][at // inner % sizes[dim]]
                  for at in range(math.prod(sizes))]
        indices = b.leaf(sizes, "int64", values)
    operands = [x, indices]
    if "number" in name:
        number = {"number": b.number(x.dtype)}
    else:
        operands.append(b.like([n + b.chance(0.1) for n in sizes], x.dtype))
    if "reduce" in name:
        number = {"reduce": b.rng.choice(sorted(REDUCE)), "include_self": b.chance(0.7)}
    emit(b, name, operands, x, dim=dim, **number)


@recipe("index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_",
        weight=0.4)
def slices(b, name):
    x = operand(b, name, low=1)
    dim = b.dim(x)
    n = x.sizes[dim]
    if "add" in name:
        indices = b.indices((b.rng.randint(0, 4),), n)
    elif "copy" in name:
        indices = distinct(b, b.rng.randint(0, n), n)
    else:
        indices = b.indices((b.rng.randint(0, 3),), n, negative=True)
    operands, given = [x, indices], {}
    if "fill" in name:
        given["number"] = b.number(x.dtype)
    else:
        operands.append(b.like(replaced(x, dim, indices.sizes[0]), x.dtype))
    if "add" in name:
        given["alpha"] = b.rng.choice((1.0, 1.0, 2.0, -0.5))
    emit(b, name, operands, x, dim=dim, **given)


@recipe("take", "put", "put_", weight=0.4)
def elements(b, name):
    x = operand(b, name)
    count = math.prod(x.sizes)
    if name == "take":
        indices = b.indices(b.sizes(high=2), count, negative=True)
        b.emit(name, (x, indices), (indices.sizes, x.dtype))
        return
    accumulate = b.chance(0.5)
    n = b.rng.randint(0, min(count, 5))
    indices = b.indices((n,), count, negative=True) if accumulate else distinct(b, n, count)
    emit(b, name, (x, indices, b.like((n,), x.dtype)), x, accumulate=accumulate)


@recipe("take_along_dim", weight=0.4)
def take_along_dim(b, name):
    x = b.floating(low=1, fits=lambda k: 0 not in k.sizes)
    dim = b.dim(x) % len(x.sizes)
    sizes = [n if b.chance(0.7) else 1 for n in x.sizes]
    sizes[dim] = b.rng.randint(1, 3)
    indices = b.indices(sizes, x.sizes[dim])
    b.emit(name, (x, indices), (replaced(x, dim, sizes[dim]), x.dtype), dim=dim)


@recipe("masked_select", "masked_fill_tensor", "masked_fill_", "masked_fill_tensor_",
        "masked_scatter", "masked_scatter_", weight=0.5)
def masks(b, name):
    x = operand(b, name)
    mask = b.like([n if b.chance(0.7) else 1 for n in x.sizes], "bool")
    if name == "masked_select":
        b.emit(name, (x, mask), ((0,), x.dtype))
        if b.known and b.known[-1].name == b.statements[-1].get("as", [""])[0]:
            b.known.pop()
    elif name == "masked_fill_":
        emit(b, name, (x, mask), x, number=b.number(x.dtype))
    elif "fill" in name:
        emit(b, name, (x, mask, b.like((), x.dtype)), x)
    else:
        more = math.prod(x.sizes) + b.rng.randint(0, 1)
        emit(b, name, (x, mask, b.like((more,), x.dtype)), x)


@recipe("index_put", "index_put_accumulate_", weight=0.4)
def index_put(b, name):
    x = operand(b, name, low=1)
    accumulate = b.chance(0.6)
    n = x.sizes[0]
    count = b.rng.randint(0, 3 if accumulate else n)
    indices = b.indices((count,), n, negative=True) if accumulate else distinct(b, count, n)
    values = b.like((count, *x.sizes[1:]) if b.chance(0.7) else x.sizes[1:], x.dtype)
    emit(b, name, (x, indices, values), x, accumulate=accumulate)
