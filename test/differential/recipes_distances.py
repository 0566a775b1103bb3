# SPDX-License-Identifier: Apache-2.0
"""Distances, covariances, combinations, places, and products of integers."""

import math

from builder import together
from recipes import recipe
from recipes_shapes import replaced


@recipe("cdist", weight=0.4)
def cdist(b, name):
    x = b.floating(low=2)
    if x.dtype not in ("float32", "float64"):
        return
    y = b.like((*x.sizes[:-2], b.size(), x.sizes[-1]), x.dtype)
    b.emit(name, (x, y), ((*x.sizes[:-1], y.sizes[-2]), x.dtype),
           number=b.rng.choice((1.0, 2.0, 2.0, 3.0)))


@recipe("cross", weight=0.3)
def cross(b, name):
    sizes = list(b.sizes(low=1, high=3))
    dim = b.rng.randrange(len(sizes))
    sizes[dim] = 3
    dtype = b.some_dtype()
    x, y = b.like(tuple(sizes), dtype), b.like(tuple(sizes), dtype)
    b.emit(name, (x, y), (sizes, dtype), dim=b.rng.choice((dim, dim - len(sizes))))


@recipe("vdot", weight=0.2)
def vdot(b, name):
    x = b.floating(low=1, high=1)
    b.emit(name, (x, b.like(x.sizes, x.dtype)), ((), x.dtype))


@recipe("cov", "corrcoef", weight=0.3)
def cov(b, name):
    x = b.floating(low=1, high=2, fits=lambda k: 0 not in k.sizes)
    if 0 in x.sizes or x.dtype not in ("float32", "float64"):
        return
    n = x.sizes[0] if len(x.sizes) == 2 else 1
    b.emit(name, (x,), (() if n == 1 else (n, n), x.dtype),
           **({"correction": b.rng.choice((0, 1, 1))} if name == "cov" else {}))


@recipe("cov_weighted", weight=0.2)
def cov_weighted(b, name):
    x = b.floating(low=1, high=2, fits=lambda k: 0 not in k.sizes)
    # With one observation PyTorch counts a write to x.
    if x.sizes[-1] == 1:
        return
    if 0 in x.sizes or x.dtype not in ("float32", "float64"):
        return
    n, count = (x.sizes[0] if len(x.sizes) == 2 else 1), x.sizes[-1]
    kind = b.rng.choice(("f", "a", "both"))
    repeated = b.leaf((count,), "int64", [b.rng.randint(1, 4) for _ in range(count)])
    shares = b.leaf((count,), x.dtype, [b.rng.randint(1, 16) / 8 for _ in range(count)])
    of = (x, repeated if kind != "a" else None, shares if kind != "f" else None)
    b.emit(name, of, (() if n == 1 else (n, n), x.dtype), correction=b.rng.choice((0, 1, 1)))


@recipe("gradient", weight=0.3)
def gradient(b, name):
    x = b.floating(low=1, high=3)
    order = b.rng.randint(1, 2)
    dims = [d for d, n in enumerate(x.sizes) if n > order]
    if not dims or (order == 1 and min(x.sizes[d] for d in dims) < 2):
        return
    dims = b.rng.sample(dims, b.rng.randint(1, len(dims)))
    made = [(x.sizes, x.dtype)] * len(dims)
    given = {"dims": dims, "edge_order": order}
    if b.chance(0.5):
        b.emit(name, (x,), *made, spacing=[b.rng.choice((0.5, 1.0, 2.0)) for _ in dims], **given)
        return
    places = []
    for d in dims:
        at = [b.rng.randint(1, 4) / 2 for _ in range(x.sizes[d])]
        places.append(b.leaf((x.sizes[d],), x.dtype, [sum(at[:i + 1]) for i in range(len(at))]))
    b.emit(name, (x, *places), *made, spacing=None, **given)


@recipe("cumulative_trapezoid", weight=0.3)
def cumulative_trapezoid(b, name):
    x = b.floating(low=1)
    dim = b.dim(x)
    b.emit(name, (x,), (replaced(x, dim % len(x.sizes), max(x.sizes[dim] - 1, 0)), x.dtype),
           dim=dim, number=b.rng.choice((1.0, 0.5, 2.0)))


@recipe("combinations", weight=0.3)
def combinations(b, name):
    x = b.any(low=1, high=1)
    count, repeated = b.rng.randint(1, 3), b.chance(0.5)
    n = x.sizes[0]
    total = math.comb(n + count - 1 if repeated and n else n, count)
    b.emit(name, (x,), ((total, count), x.dtype), count=count, repeated=repeated)


@recipe("argwhere", weight=0.2)
def argwhere(b, name):
    b.emit(name, (b.any(),), ((0,), "int64"))
    b.known.pop()


@recipe("unravel_index", weight=0.2)
def unravel_index(b, name):
    sizes = [b.rng.randint(1, 4) for _ in range(b.rng.randint(1, 3))]
    x = b.indices(b.sizes(), math.prod(sizes))
    b.emit(name, (x,), *[(x.sizes, "int64")] * len(sizes), sizes=sizes)


@recipe("broadcast_shapes", weight=0.2)
def broadcast_shapes(b, name):
    x = b.any()
    y, sizes = b.broadcasting(x, x.dtype)
    z, wide = b.broadcasting(x, x.dtype)
    if (whole := together(sizes, wide)) is not None and math.prod(whole) < 400:
        b.emit(name, (x, y, z), (whole, "float32"))


@recipe("matrix_transpose", weight=0.3)
def matrix_transpose(b, name):
    x = b.any(low=2)
    b.emit(name, (x,), ((*x.sizes[:-2], x.sizes[-1], x.sizes[-2]), x.dtype))
