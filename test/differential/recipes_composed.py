# SPDX-License-Identifier: Apache-2.0
"""The operations of ops/composed."""

import math

from builder import LARGEST, floating_result
from recipes import recipe
from recipes_elementwise import without
from recipes_more_shapes import diagonal_size, two_dims
from recipes_reductions import dtype_of_sums, over_dims
from recipes_shapes import replaced


# --- Measures ---
@recipe("std_mean", "var_mean", weight=0.4)
def spread_and_mean(b, name):
    x = b.floating(low=1)
    settings, sizes = over_dims(b, x)
    b.emit(name, (x,), (sizes, x.dtype), (sizes, x.dtype), correction=b.rng.choice((0, 1, 1, 2)),
           **settings)


@recipe("aminmax", weight=0.4)
def aminmax(b, name):
    x = b.floating(low=1)
    dim, keepdim = b.dim(x), b.chance(0.5)
    sizes = without(x.sizes, [dim % len(x.sizes)], keepdim)
    b.emit(name, (x,), (sizes, x.dtype), (sizes, x.dtype), dims=[dim], keepdim=keepdim)


@recipe("dist", weight=0.4)
def dist(b, name):
    x = b.floating(low=1)
    y, _ = b.broadcasting(x, x.dtype)
    b.emit(name, (x, y), ((), x.dtype), number=b.rng.choice((0, 1, 2, 2, 3, "inf")))


@recipe("normalize", weight=0.6)
def normalize(b, name):
    x = b.floating(low=1)
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.choice((1, 2, 2, 3)), dim=b.dim(x),
           eps=b.rng.choice((1e-12, 0.5)))


@recipe("clamp_min", "clamp_max", weight=0.4)
def clamp_one_side(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.randint(-8, 8) / 4)


@recipe("deg2rad", "rad2deg", weight=0.3)
def angle(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, floating_result(x.dtype)))


@recipe("isposinf", "isneginf", weight=0.3)
def infinite(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, "bool"))


@recipe("trapezoid", weight=0.4)
def trapezoid(b, name):
    x = b.floating(low=1)
    dim = b.dim(x)
    b.emit(name, (x,), (without(x.sizes, [dim % len(x.sizes)], False), x.dtype), dim=dim,
           number=b.rng.choice((1.0, 0.5, 2.0)))


# --- Products ---
def factors(b):
    return {"beta": b.rng.choice((1.0, 1.0, 0.5, 0.0, -2.0)),
            "alpha": b.rng.choice((1.0, 1.0, 0.5, 0.0, 3.0))}


@recipe("addmv", weight=0.4)
def addmv(b, name):
    m = b.floating(low=2, high=2)
    v = b.like((m.sizes[1],), m.dtype)
    x = b.like(b.rng.choice(((m.sizes[0],), (1,), ())), m.dtype)
    b.emit(name, (x, m, v), ((m.sizes[0],), m.dtype), **factors(b))


@recipe("addr", weight=0.4)
def addr(b, name):
    left = b.floating(low=1, high=1)
    right = b.like((b.size(),), left.dtype)
    sizes = (left.sizes[0], right.sizes[0])
    x = b.like(b.rng.choice((sizes, sizes[1:], (1, 1))), left.dtype)
    b.emit(name, (x, left, right), (sizes, left.dtype), **factors(b))


@recipe("addbmm", weight=0.4)
def addbmm(b, name):
    left = b.floating(low=3, high=3)
    right = b.like((left.sizes[0], left.sizes[2], b.size()), left.dtype)
    sizes = (left.sizes[1], right.sizes[2])
    x = b.like(b.rng.choice((sizes, sizes[1:])), left.dtype)
    b.emit(name, (x, left, right), (sizes, left.dtype), **factors(b))


@recipe("inner", weight=0.4)
def inner(b, name):
    x = b.floating(high=3)
    if not x.sizes:
        y = b.like(b.sizes(), x.dtype)
        b.emit(name, (x, y), (y.sizes, x.dtype))
        return
    y = b.like((*b.sizes(high=1), x.sizes[-1]), x.dtype)
    b.emit(name, (x, y), ((*x.sizes[:-1], *y.sizes[:-1]), x.dtype))


@recipe("kron", weight=0.4)
def kron(b, name):
    x = b.floating(high=3)
    y = b.like(b.sizes(high=2), x.dtype)
    rank = max(len(x.sizes), len(y.sizes))
    widened = [(1,) * (rank - len(t.sizes)) + tuple(t.sizes) for t in (x, y)]
    sizes = [m * n for m, n in zip(*widened)]
    if math.prod(sizes) <= 4 * LARGEST:
        b.emit(name, (x, y), (sizes, x.dtype))


@recipe("trace", weight=0.3)
def trace(b, name):
    x = b.any(low=2, high=2)
    b.emit(name, (x,), ((), dtype_of_sums(x)))


# --- Parts ---
@recipe("ravel", weight=0.4)
def ravel(b, name):
    x = b.any()
    b.emit(name, (x,), ((math.prod(x.sizes),), x.dtype))


@recipe("hsplit", "vsplit", "dsplit", weight=0.3)
def equal_parts(b, name):
    x = b.any(low={"hsplit": 1, "vsplit": 2, "dsplit": 3}[name])
    dim = {"hsplit": min(1, len(x.sizes) - 1), "vsplit": 0, "dsplit": 2}[name]
    n = x.sizes[dim]
    sections = b.rng.choice([d for d in range(1, n + 1) if n % d == 0] or [1, 2])
    part = (replaced(x, dim, n // sections), x.dtype)
    b.emit(name, (x,), *[part] * sections, sections=sections)


@recipe("diagflat", weight=0.3)
def diagflat(b, name):
    x = b.any(high=2)
    offset = b.rng.randint(-2, 2)
    n = math.prod(x.sizes) + abs(offset)
    b.emit(name, (x,), ((n, n), x.dtype), offset=offset)


@recipe("block_diag", weight=0.3)
def block_diag(b, name):
    x = b.floating(high=2)
    blocks = [x, *(b.like(b.sizes(high=2), x.dtype) for _ in range(b.rng.randint(0, 2)))]
    matrices = [(1,) * (2 - len(t.sizes)) + tuple(t.sizes) for t in blocks]
    b.emit(name, blocks, ([sum(n) for n in zip(*matrices)], x.dtype))


@recipe("cartesian_prod", weight=0.3)
def cartesian_prod(b, name):
    x = b.floating(low=1, high=1)
    parts = [x, *(b.like((b.size(),), x.dtype) for _ in range(b.rng.randint(1, 2)))]
    b.emit(name, parts, ((math.prod(t.sizes[0] for t in parts), len(parts)), x.dtype))


@recipe("select_scatter", weight=0.4)
def select_scatter(b, name):
    x = b.floating(low=1)
    dim = b.rng.randrange(len(x.sizes))
    if x.sizes[dim]:
        source = b.like(without(x.sizes, [dim], False), x.dtype)
        b.emit(name, (x, source), (x.sizes, x.dtype), dim=dim,
               index=b.rng.randrange(-x.sizes[dim], x.sizes[dim]))


@recipe("slice_scatter", weight=0.4)
def slice_scatter(b, name):
    x = b.floating(low=1)
    dim = b.rng.randrange(len(x.sizes))
    start, end = sorted(b.rng.randint(0, x.sizes[dim]) for _ in range(2))
    step = b.rng.choice((1, 1, 2))
    source = b.like(replaced(x, dim, len(range(start, end, step))), x.dtype)
    b.emit(name, (x, source), (x.sizes, x.dtype), dim=dim, start=start, end=end, step=step)


@recipe("diagonal_scatter", weight=0.4)
def diagonal_scatter(b, name):
    x = b.floating(low=2)
    dim1, dim2 = two_dims(b, x)
    offset = b.rng.randint(-1, 1)
    sizes = [n for d, n in enumerate(x.sizes) if d not in (dim1, dim2)]
    sizes.append(diagonal_size(x.sizes[dim1], x.sizes[dim2], offset))
    b.emit(name, (x, b.like(sizes, x.dtype)), (x.sizes, x.dtype), offset=offset, dim1=dim1,
           dim2=dim2)
