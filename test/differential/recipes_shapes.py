# SPDX-License-Identifier: Apache-2.0
"""Views, copies in other shapes, and lookups."""

import math

from recipes import recipe


def reshaped(b, sizes):
    """Other sizes with as many elements."""
    count = math.prod(sizes)
    if count == 0:
        result = list(sizes)
        b.rng.shuffle(result)
        return result
    result = []
    while count > 1 and len(result) < 4:
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        result.append(b.rng.choice(divisors))
        count //= result[-1]
    return result + [count] if count > 1 or b.chance(0.2) else result


@recipe("reshape", "view")
def reshape(b, name):
    x = b.any()
    sizes = reshaped(b, x.sizes)
    asked = list(sizes)
    if sizes and 0 not in sizes and b.chance(0.3):
        asked[b.rng.randrange(len(asked))] = -1
    b.emit(name, (x,), (sizes, x.dtype), sizes=asked)


@recipe("transpose", weight=1.5)
def transpose(b, name):
    x = b.any()
    dim0, dim1 = b.dim(x), b.dim(x)
    sizes = list(x.sizes)
    if sizes:
        sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
    b.emit(name, (x,), (sizes, x.dtype), dim0=dim0, dim1=dim1)


@recipe("t", weight=0.6)
def t(b, name):
    x = b.any(high=2)
    b.emit(name, (x,), (x.sizes[::-1], x.dtype))


@recipe("permute")
def permute(b, name):
    x = b.any()
    order = list(range(len(x.sizes)))
    b.rng.shuffle(order)
    b.emit(name, (x,), ([x.sizes[d] for d in order], x.dtype),
           order=[d - len(order) if b.chance(0.2) else d for d in order])


@recipe("expand")
def expand(b, name):
    x = b.any(high=3)
    sizes = [b.size() if n == 1 and b.chance(0.7) else n for n in x.sizes]
    front = [b.size()] if b.chance(0.4) else []
    asked = front + [-1 if n == m and b.chance(0.2) else n for n, m in zip(sizes, x.sizes)]
    b.emit(name, (x,), (front + sizes, x.dtype), sizes=asked)


@recipe("squeeze")
def squeeze(b, name):
    x = b.find(lambda k: 1 in k.sizes) or b.any(low=1)
    ones = [d for d, n in enumerate(x.sizes) if n == 1]
    dim = b.rng.choice(ones) if ones and b.chance(0.9) else b.dim(x)
    sizes = list(x.sizes)
    if sizes and sizes[dim] == 1:
        del sizes[dim]
    b.emit(name, (x,), (sizes, x.dtype), dim=dim)


@recipe("unsqueeze")
def unsqueeze(b, name):
    x = b.any(high=3)
    dim = b.dim(x, extra=1)
    sizes = list(x.sizes)
    sizes.insert(dim if dim >= 0 else dim + len(sizes) + 1, 1)
    b.emit(name, (x,), (sizes, x.dtype), dim=dim)


@recipe("narrow")
def narrow(b, name):
    x = b.any(low=1)
    dim = b.dim(x)
    start = b.rng.randint(0, x.sizes[dim])
    length = b.rng.randint(0 if b.chance(0.1) else min(1, x.sizes[dim] - start),
                           x.sizes[dim] - start)
    b.emit(name, (x,), (replaced(x, dim, length), x.dtype), dim=dim, start=start, length=length)


def replaced(x, dim, size):
    sizes = list(x.sizes)
    sizes[dim] = size
    return sizes


@recipe("select", weight=1.5)
def select(b, name):
    x = b.any(low=1)
    dim = b.dim(x)
    n = x.sizes[dim]
    sizes = list(x.sizes)
    del sizes[dim]
    b.emit(name, (x,), (sizes, x.dtype), dim=dim, index=b.rng.randrange(-n, n) if n else 0)


@recipe("slice", weight=1.5)
def slice_(b, name):
    x = b.any(low=1)
    dim = b.dim(x)
    bounds = sorted(b.rng.randint(-x.sizes[dim] - 1, x.sizes[dim] + 1) for _ in range(2))
    step = b.rng.choice((1, 1, 2, 3))
    size = len(range(*slice(bounds[0], bounds[1], step).indices(x.sizes[dim])))
    b.emit(name, (x,), (replaced(x, dim, size), x.dtype), dim=dim, start=bounds[0],
           end=bounds[1], step=step)


@recipe("as_strided")
def as_strided(b, name):
    x = b.floating(high=3, fits=lambda k: math.prod(k.sizes) > 0)
    sizes = [b.rng.randint(1, 3) for _ in range(b.rng.randint(0, 2))]
    strides = [b.rng.randint(0, 3) for _ in sizes]
    b.emit(name, (x,), (sizes, x.dtype), sizes=sizes, strides=strides,
           offset=b.rng.randint(0, 1))


# --- Parts ---
@recipe("split", "split_size", "chunk", "unbind", weight=0.7)
def parts(b, name):
    x = b.any(low=1)
    dim = b.dim(x)
    n = x.sizes[dim]
    if name == "unbind":
        rest = list(x.sizes)
        del rest[dim]
        b.emit(name, (x,), *[(rest, x.dtype)] * n, dim=dim)
        return
    if name == "split":
        sizes, left = [], n
        while left:
            sizes.append(b.rng.randint(1, left))
            left -= sizes[-1]
        given = {"sizes": sizes or [0]}
        sizes = sizes or [0]
    elif name == "split_size":
        size = b.rng.randint(1, max(n, 1))
        sizes = [min(size, n - at) for at in range(0, n, size)] or [0]
        given = {"size": size}
    else:
        chunks = b.rng.randint(1, 4)
        size = max(-(-n // chunks), 1)
        sizes = [min(size, n - at) for at in range(0, n, size)] or [0] * chunks
        given = {"chunks": chunks}
    b.emit(name, (x,), *[(replaced(x, dim, m), x.dtype) for m in sizes], dim=dim, **given)


# --- Wholes and copies ---
@recipe("cat")
def cat(b, name):
    x = b.any(low=1)
    dim = b.dim(x)
    whole = [x] + [b.like(replaced(x, dim, b.size()) if b.chance(0.4) else x.sizes, x.dtype)
                   for _ in range(b.rng.randint(0, 2))]
    b.emit(name, whole, (replaced(x, dim, sum(k.sizes[dim] for k in whole)), x.dtype), dim=dim)


@recipe("stack")
def stack(b, name):
    x = b.any(high=3)
    whole = [x] + [b.like(x.sizes, x.dtype) for _ in range(b.rng.randint(0, 2))]
    dim = b.dim(x, extra=1)
    sizes = list(x.sizes)
    sizes.insert(dim if dim >= 0 else dim + len(sizes) + 1, len(whole))
    b.emit(name, whole, (sizes, x.dtype), dim=dim)


@recipe("contiguous", weight=0.5)
def contiguous(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, x.dtype))


@recipe("channels_last", weight=0.5)
def channels_last(b, name):
    x = b.floating(low=4)
    b.emit(name, (x,), (x.sizes, x.dtype))


@recipe("clone_with_strides", weight=0.5)
def clone_with_strides(b, name):
    x = b.floating(fits=lambda k: 0 not in k.sizes)
    strides, stride = [0] * len(x.sizes), 1
    for d in b.rng.sample(range(len(x.sizes)), len(x.sizes)):
        strides[d] = stride
        stride *= x.sizes[d]
    b.emit(name, (x,), (x.sizes, x.dtype), strides=strides)


@recipe("roll", "flip", weight=0.7)
def move(b, name):
    x = b.any(low=1)
    dims = b.rng.sample(range(len(x.sizes)), b.rng.randint(1, len(x.sizes)))
    given = {"shifts": [b.rng.randint(-6, 6) for _ in dims]} if name == "roll" else {}
    b.emit(name, (x,), (x.sizes, x.dtype), dims=dims, **given)


@recipe("pad")
def pad(b, name):
    x = b.floating(low=1)
    sizes, widths = list(x.sizes), []
    for d in range(len(sizes) - 1, len(sizes) - 1 - b.rng.randint(1, len(sizes)), -1):
        left = b.rng.randint(-min(1, sizes[d]), 2)
        right = b.rng.randint(-min(1, max(sizes[d] + left, 0)), 2)
        widths += [left, right]
        sizes[d] += left + right
    b.emit(name, (x,), (sizes, x.dtype), widths=widths, number=b.number(x.dtype))


# --- Lookups ---
@recipe("embedding")
def embedding(b, name):
    weight = b.floating(low=2, high=2, fits=lambda k: k.sizes[0] > 0)
    n = weight.sizes[0]
    indices = b.indices(b.sizes(high=2), n)
    padding = b.rng.randrange(-n, n) if b.chance(0.3) else None
    b.emit(name, (weight, indices), ((*indices.sizes, weight.sizes[1]), weight.dtype),
           padding_index=padding)


@recipe("index_select")
def index_select(b, name):
    x = b.any(low=1)
    dim = b.dim(x)
    count = b.size() if x.sizes[dim] else 0
    indices = b.indices((count,), x.sizes[dim])
    b.emit(name, (x, indices), (replaced(x, dim, count), x.dtype), dim=dim)


@recipe("gather", "scatter_add")
def gather(b, name):
    x = b.floating(low=1, fits=lambda k: 0 not in k.sizes)
    dim = b.dim(x) % len(x.sizes)
    sizes = [b.rng.randint(1, n) if d != dim else b.rng.randint(1, 4)
             for d, n in enumerate(x.sizes)]
    indices = b.indices(sizes, x.sizes[dim])
    if name == "gather":
        b.emit(name, (x, indices), (sizes, x.dtype), dim=dim)
        return
    source = b.like([n + (b.rng.randint(0, 1) if b.chance(0.2) else 0) for n in sizes], x.dtype)
    b.emit(name, (x, indices, source), (x.sizes, x.dtype), dim=dim)


def index_of(b, x):
    """The content of the brackets, its tensors, and the sizes of the result; the sizes are
    None if they are not worth computing."""
    indices, tensors, sizes, left = [], [], [], list(x.sizes)
    advanced = False
    while left and b.chance(0.8):
        n = left.pop(0)
        kind = b.rng.random()
        if kind < 0.3 and n:
            indices.append(b.rng.randrange(-n, n))
        elif kind < 0.6:
            step = b.rng.choice((1, 1, 2))
            start, end = sorted(b.rng.randint(0, n) for _ in range(2))
            indices.append([start, end, step])
            sizes.append(len(range(start, end, step)))
        elif kind < 0.7:
            left.insert(0, n)
            indices.append("new")
            sizes.append(1)
        elif n and not advanced:
            advanced = True
            picked = b.indices(b.sizes(1, 2), n, negative=True) if b.chance(0.7) else b.like(
                (n,), "bool")
            tensors.append(picked)
            indices.append({"tensor": len(tensors)})
            sizes += [None] if picked.dtype == "bool" else picked.sizes
        else:
            left.insert(0, n)
            indices.append("...")
            break
    sizes += left
    return indices or ["..."], tensors, None if advanced else sizes


@recipe("index", weight=2)
def index(b, name):
    x = b.any(low=1)
    indices, tensors, sizes = index_of(b, x)
    b.emit(name, (x, *tensors), (sizes or (), x.dtype), indices=indices)
    if sizes is None and b.known and b.known[-1].name == b.statements[-1].get("as", [""])[0]:
        b.known.pop()
