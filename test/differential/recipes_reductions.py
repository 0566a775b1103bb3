# SPDX-License-Identifier: Apache-2.0
"""The operations of ops/reductions, and amax, amin, argmin."""

from builder import FLOATING
from recipes import recipe
from recipes_elementwise import without


def over_dims(b, x):
    """Some dimensions of x, and the sizes of the result."""
    rank = len(x.sizes)
    dims = b.rng.sample(range(rank), b.rng.randint(1, rank))
    keepdim = b.chance(0.5)
    sizes = without(x.sizes, dims, keepdim)
    return {"dims": [d - rank if b.chance(0.3) else d for d in dims], "keepdim": keepdim}, sizes


@recipe("amax", "amin", "logsumexp", "nansum", "nanmean", weight=0.6)
def reduce_floating(b, name):
    x = b.floating(low=1)
    settings, sizes = over_dims(b, x)
    b.emit(name, (x,), (sizes, x.dtype), **settings)


@recipe("var", "std", weight=0.6)
def spread(b, name):
    x = b.floating(low=1)
    settings, sizes = over_dims(b, x)
    b.emit(name, (x,), (sizes, x.dtype), correction=b.rng.choice((0, 1, 1, 2)), **settings)


@recipe("vector_norm", weight=0.6)
def vector_norm(b, name):
    x = b.floating(low=1)
    settings, sizes = over_dims(b, x)
    order = b.rng.choice((0, 1, 2, 2, 3, 1.5, "inf", "-inf"))
    b.emit(name, (x,), (sizes, x.dtype), number=order, **settings)


@recipe("any", "all", weight=0.4)
def truth(b, name):
    x = b.any(low=1)
    settings, sizes = over_dims(b, x)
    b.emit(name, (x,), (sizes, "bool"), **settings)


@recipe("count_nonzero", weight=0.3)
def count_nonzero(b, name):
    x = b.any(low=1)
    settings, _ = over_dims(b, x)
    sizes = without(x.sizes, [d % len(x.sizes) for d in settings["dims"]], False)
    b.emit(name, (x,), (sizes, "int64"), dims=settings["dims"])


@recipe("argmin", weight=0.4)
def argmin(b, name):
    x = b.floating()
    dim, keepdim = b.dim(x), b.chance(0.5)
    sizes = without(x.sizes, [dim % max(len(x.sizes), 1)], keepdim)
    b.emit(name, (x,), (sizes, "int64"), dim=dim, keepdim=keepdim)


def dtype_of_sums(x):
    return x.dtype if x.dtype in FLOATING else "int64"


@recipe("prod", weight=0.5)
def prod(b, name):
    x = b.any()
    b.emit(name, (x,), ((), dtype_of_sums(x)))


@recipe("prod_dim", weight=0.5)
def prod_dim(b, name):
    x = b.any()
    dim, keepdim = b.dim(x), b.chance(0.5)
    sizes = without(x.sizes, [dim % max(len(x.sizes), 1)], keepdim)
    b.emit(name, (x,), (sizes, dtype_of_sums(x)), dim=dim, keepdim=keepdim)


@recipe("cumsum", "cumprod", weight=0.6)
def scan(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, dtype_of_sums(x)), dim=b.dim(x))


@recipe("diff", weight=0.4)
def diff(b, name):
    x = b.floating(low=1)
    dim = b.dim(x)
    sizes = list(x.sizes)
    sizes[dim] = max(sizes[dim] - 1, 0)
    b.emit(name, (x,), (sizes, x.dtype), dim=dim)
