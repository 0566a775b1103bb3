# SPDX-License-Identifier: Apache-2.0
"""The operations of ops/shapes."""

import math

from builder import LARGEST
from recipes import recipe
from recipes_shapes import replaced


def two_dims(b, x):
    return b.rng.sample(range(len(x.sizes)), 2)


# --- Views ---
@recipe("flatten", weight=0.6)
def flatten(b, name):
    x = b.any()
    rank = len(x.sizes)
    if not rank:
        b.emit(name, (x,), ((1,), x.dtype), start=0, end=-1)
        return
    start, end = sorted(b.rng.randrange(rank) for _ in range(2))
    sizes = [*x.sizes[:start], math.prod(x.sizes[start:end + 1]), *x.sizes[end + 1:]]
    b.emit(name, (x,), (sizes, x.dtype), start=start, end=end - rank)


@recipe("unflatten", weight=0.6)
def unflatten(b, name):
    x = b.any(low=1, high=3)
    dim = b.rng.randrange(len(x.sizes))
    n = x.sizes[dim]
    divisor = b.rng.choice([d for d in range(1, n + 1) if n % d == 0] or [1])
    parts = [divisor, n // divisor]
    asked = [divisor, -1] if n and b.chance(0.4) else parts
    b.emit(name, (x,), ([*x.sizes[:dim], *parts, *x.sizes[dim + 1:]], x.dtype), dim=dim,
           sizes=asked)


@recipe("movedim", weight=0.6)
def movedim(b, name):
    x = b.any(low=1)
    rank = len(x.sizes)
    count = b.rng.randint(1, rank)
    places, to = b.rng.sample(range(rank), count), b.rng.sample(range(rank), count)
    order = [None] * rank
    for a, c in zip(places, to):
        order[c] = a
    rest = iter(d for d in range(rank) if d not in places)
    sizes = [x.sizes[next(rest) if d is None else d] for d in order]
    b.emit(name, (x,), (sizes, x.dtype), places=places, to=to)


@recipe("swapaxes", weight=0.3)
def swapaxes(b, name):
    x = b.any(low=2)
    dim0, dim1 = two_dims(b, x)
    sizes = list(x.sizes)
    sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
    b.emit(name, (x,), (sizes, x.dtype), dim0=dim0, dim1=dim1)


def diagonal_size(rows, columns, offset):
    return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)


@recipe("diagonal")
def diagonal(b, name):
    x = b.any(low=2)
    dim1, dim2 = two_dims(b, x)
    offset = b.rng.randint(-2, 2)
    sizes = [n for d, n in enumerate(x.sizes) if d not in (dim1, dim2)]
    sizes.append(diagonal_size(x.sizes[dim1], x.sizes[dim2], offset))
    b.emit(name, (x,), (sizes, x.dtype), offset=offset, dim1=dim1, dim2=dim2)


@recipe("unfold")
def unfold(b, name):
    x = b.any(low=1, high=3)
    dim = b.rng.randrange(len(x.sizes))
    size = b.rng.randint(min(1, x.sizes[dim]), x.sizes[dim])
    step = b.rng.randint(1, 3)
    windows = (x.sizes[dim] - size) // step + 1
    b.emit(name, (x,), (replaced(x, dim, windows) + [size], x.dtype), dim=dim, size=size,
           step=step)


@recipe("broadcast_to", weight=0.4)
def broadcast_to(b, name):
    x = b.any(high=3)
    sizes = [b.size() if n == 1 else n for n in x.sizes]
    sizes = ([b.size()] if b.chance(0.4) else []) + sizes
    b.emit(name, (x,), (sizes, x.dtype), sizes=sizes)


@recipe("broadcast_tensors", weight=0.4)
def broadcast_tensors(b, name):
    x = b.any(high=3)
    other, sizes = b.broadcasting(x, x.dtype)
    b.emit(name, (x, other), (sizes, x.dtype), (sizes, x.dtype))


@recipe("atleast_1d", "atleast_2d", "atleast_3d", weight=0.25)
def atleast(b, name):
    x = b.any(high=3)
    least = int(name[-2])
    sizes = list(x.sizes)
    while len(sizes) < least:
        sizes = [*sizes, 1] if len(sizes) == 2 else [1, *sizes]
    b.emit(name, (x,), (sizes, x.dtype))


@recipe("tensor_split", "tensor_split_at", weight=0.5)
def tensor_split(b, name):
    x = b.any(low=1)
    dim = b.dim(x)
    n = x.sizes[dim]
    if name == "tensor_split":
        sections = b.rng.randint(1, 3)
        sizes = [n // sections + (i < n % sections) for i in range(sections)]
        given = {"sections": sections}
    else:
        starts = sorted(b.rng.randint(0, n + 1) for _ in range(b.rng.randint(1, 2)))
        bounds = [min(i, n) for i in (0, *starts, n)]
        sizes = [q - p for p, q in zip(bounds, bounds[1:])]
        given = {"starts": starts}
    b.emit(name, (x,), *[(replaced(x, dim, m), x.dtype) for m in sizes], dim=dim, **given)


@recipe("meshgrid", weight=0.4)
def meshgrid(b, name):
    x = b.any(high=1)
    others = [b.like((b.size(),), x.dtype) for _ in range(b.rng.randint(0, 2))]
    sizes = [math.prod(k.sizes) for k in (x, *others)]
    cartesian = b.chance(0.4)
    if cartesian and len(sizes) > 1:
        sizes[:2] = sizes[1], sizes[0]
    b.emit(name, (x, *others), *[(sizes, x.dtype)] * len(sizes), cartesian=cartesian)


# --- Copies ---
@recipe("repeat", "tile", weight=0.6)
def repeat(b, name):
    x = b.any(high=3)
    repeats = [b.rng.choice((1, 1, 2, 3, 0) if b.chance(0.1) else (1, 2)) for _ in x.sizes]
    if b.chance(0.3):
        repeats.insert(0, 2)
    sizes = list(x.sizes)
    if name == "tile" and repeats and b.chance(0.3):
        del repeats[0]
    whole = [1] * (len(sizes) - len(repeats)) + repeats
    sizes = [1] * (len(whole) - len(sizes)) + sizes
    b.emit(name, (x,), ([n * m for n, m in zip(sizes, whole)], x.dtype), repeats=repeats)


@recipe("repeat_interleave", "repeat_interleave_tensor", weight=0.5)
def repeat_interleave(b, name):
    x = b.any(low=1, high=3)
    flat = b.chance(0.3)
    dim = None if flat else b.dim(x)
    n = math.prod(x.sizes) if flat else x.sizes[dim]
    if name == "repeat_interleave":
        count = b.rng.randint(0, 3)
        total, operands, given = n * count, (x,), {"count": count}
    else:
        values = [b.rng.randint(0, 2) for _ in range(n)]
        total, given = sum(values), {}
        operands = (x, b.leaf((n,), "int64", values))
    sizes = [total] if flat else replaced(x, dim, total)
    b.emit(name, operands, (sizes, x.dtype), dim=dim, **given)


@recipe("hstack", "vstack", "dstack", "column_stack", weight=0.3)
def stacks(b, name):
    x = b.any(low=1, high=3)
    others = [b.like(x.sizes, x.dtype) for _ in range(b.rng.randint(0, 2))]
    sizes = list(x.sizes)
    if name == "column_stack" and len(sizes) == 1:
        sizes = [sizes[0], 1]
    least = {"hstack": 1, "vstack": 2, "dstack": 3, "column_stack": 2}[name]
    while len(sizes) < least:
        sizes = [*sizes, 1] if len(sizes) == 2 else [1, *sizes]
    dim = {"hstack": min(1, len(sizes) - 1), "vstack": 0, "dstack": 2, "column_stack": 1}[name]
    sizes[dim] *= 1 + len(others)
    b.emit(name, (x, *others), (sizes, x.dtype))


@recipe("rot90", weight=0.5)
def rot90(b, name):
    x = b.any(low=2)
    dim0, dim1 = two_dims(b, x)
    k = b.rng.randint(-2, 5)
    sizes = list(x.sizes)
    if k % 2:
        sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
    b.emit(name, (x,), (sizes, x.dtype), k=k, dim0=dim0, dim1=dim1)


@recipe("fliplr", "flipud", weight=0.2)
def flips(b, name):
    x = b.any(low=2)
    b.emit(name, (x,), (x.sizes, x.dtype))


@recipe("roll_flat", weight=0.3)
def roll_flat(b, name):
    x = b.any(low=1)
    b.emit(name, (x,), (x.sizes, x.dtype), shift=b.rng.randint(-6, 6))


@recipe("channel_shuffle", weight=0.3)
def channel_shuffle(b, name):
    x = b.floating(low=3, fits=lambda k: 0 not in k.sizes)
    groups = b.rng.choice([g for g in range(1, x.sizes[1] + 1) if x.sizes[1] % g == 0])
    b.emit(name, (x,), (x.sizes, x.dtype), groups=groups)


@recipe("tril", "triu", weight=0.6)
def triangle(b, name):
    x = b.any(low=2)
    b.emit(name, (x,), (x.sizes, x.dtype), offset=b.rng.randint(-3, 3))


@recipe("tril_", "triu_", weight=0.3)
def triangle_in_place(b, name):
    x = b.floating(low=2)
    b.emit(name, (x,), offset=b.rng.randint(-3, 3))


@recipe("diag", weight=0.5)
def diag(b, name):
    x = b.any(low=1, high=2)
    offset = b.rng.randint(-2, 2)
    n = x.sizes[0] + abs(offset)
    sizes = (n, n) if len(x.sizes) == 1 else (diagonal_size(*x.sizes, offset),)
    b.emit(name, (x,), (sizes, x.dtype), offset=offset)


@recipe("diag_embed", weight=0.5)
def diag_embed(b, name):
    x = b.any(low=1, high=3)
    dim1, dim2 = b.rng.sample(range(len(x.sizes) + 1), 2)
    offset = b.rng.randint(-2, 2)
    sizes = list(x.sizes[:-1])
    for d in sorted((dim1, dim2)):
        sizes.insert(d, x.sizes[-1] + abs(offset))
    b.emit(name, (x,), (sizes, x.dtype), offset=offset, dim1=dim1, dim2=dim2)


@recipe("full_like", weight=0.3)
def full_like(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.number(x.dtype))


@recipe("one_hot", weight=0.3)
def one_hot(b, name):
    classes = b.rng.randint(1, 4)
    labels = b.indices(b.sizes(high=2), classes)
    b.emit(name, (labels,), ((*labels.sizes, classes), "int64"), classes=classes)


@recipe("unfold_images", "fold", weight=0.4)
def patches(b, name):
    pair = lambda low, high: [b.rng.randint(low, high) for _ in range(2)]
    size, kernel, dilation = pair(3, 5), pair(1, 2), pair(1, 2)
    padding, stride = pair(0, 1), pair(1, 2)
    n, c = b.rng.randint(1, 2), b.rng.randint(1, 2)
    counts = [(m + 2 * p - d * (k - 1) - 1) // s + 1
              for m, p, d, k, s in zip(size, padding, dilation, kernel, stride)]
    columns = [n, c * math.prod(kernel), math.prod(counts)]
    sizes, made = [n, c, *size], columns
    given = {}
    if name == "fold":
        sizes, made, given = columns, sizes, {"size": size}
    x = b.like(sizes, b.some_dtype())
    b.emit(name, (x,), (made, x.dtype), kernel=kernel, dilation=dilation, padding=padding,
           stride=stride, **given)


# --- Contractions ---
@recipe("outer", "dot", "mv", weight=0.5)
def vectors(b, name):
    x = b.floating(low=1, high=1)
    if name == "outer":
        y = b.like((b.size(),), x.dtype)
        b.emit(name, (x, y), ((x.sizes[0], y.sizes[0]), x.dtype))
    elif name == "dot":
        b.emit(name, (x, b.like(x.sizes, x.dtype)), ((), x.dtype))
    else:
        rows = b.size()
        b.emit(name, (b.like((rows, x.sizes[0]), x.dtype), x), ((rows,), x.dtype))


@recipe("baddbmm", weight=0.5)
def baddbmm(b, name):
    x = b.floating(low=3, high=3)
    n, m, k = x.sizes
    p = b.size()
    added = b.like(b.rng.choice(([n, m, p], [1, m, p], [p])), x.dtype)
    b.emit(name, (added, x, b.like((n, k, p), x.dtype)), ((n, m, p), x.dtype),
           beta=b.rng.choice((1.0, 0.5, 2.0)), alpha=b.rng.choice((1.0, -0.5)))


@recipe("tensordot", "tensordot_last", weight=0.4)
def tensordot(b, name):
    x = b.floating(low=1, high=3)
    rank = len(x.sizes)
    count = b.rng.randint(0, rank)
    ours = (list(range(rank - count, rank)) if name == "tensordot_last"
            else b.rng.sample(range(rank), count))
    y = b.like([x.sizes[d] for d in ours] + [b.size()], x.dtype)
    sizes = [n for d, n in enumerate(x.sizes) if d not in ours] + [y.sizes[-1]]
    given = ({"count": count} if name == "tensordot_last"
             else {"dims_of_a": ours, "dims_of_b": list(range(count))})
    b.emit(name, (x, y), (sizes, x.dtype), **given)


@recipe("einsum", weight=1.5)
def einsum(b, name):
    x = b.floating(low=1, high=3)
    letters = b.rng.sample("abcdXYZ", len(x.sizes))
    size_of = dict(zip(letters, x.sizes))
    if len(x.sizes) > 1 and x.sizes[0] == x.sizes[1] and b.chance(0.4):
        letters[1] = letters[0]
    operands, subscripts = [x], ["".join(letters)]
    if b.chance(0.3):
        subscripts[0] = "..." + "".join(letters[1:])
    for _ in range(b.rng.choice((0, 1, 1, 1, 2))):
        shared = [c for c in dict.fromkeys(letters) if b.chance(0.6)]
        fresh = [c for c in "pq" if b.chance(0.4)]
        for c in fresh:
            size_of.setdefault(c, b.size())
        own = shared + fresh
        b.rng.shuffle(own)
        operands.append(b.like([size_of[c] for c in own], x.dtype))
        subscripts.append("".join(own))
        letters += fresh
    named = [c for c in dict.fromkeys("".join(subscripts)) if c != "."]
    equation = ",".join(subscripts)
    result = [c for c in named if b.chance(0.5)]
    b.rng.shuffle(result)
    dots = [x.sizes[0]] if "..." in equation else []
    if b.chance(0.7):
        equation += "->" + ("..." if dots else "") + "".join(result)
    else:
        result = sorted(c for c in named if equation.count(c) == 1)
    sizes = dots + [size_of[c] for c in result]
    if math.prod(sizes) <= 2 * LARGEST and len(sizes) <= 6:
        b.emit(name, operands, (sizes, x.dtype), equation=equation)
