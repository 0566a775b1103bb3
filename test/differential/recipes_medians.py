# SPDX-License-Identifier: Apache-2.0
"""Medians, quantiles, distinct slices and running extremes."""

import math

from builder import FLOATING
from recipes import recipe
from recipes_elementwise import without
from recipes_orders import forget_sizes, size_of
from recipes_reductions import over_dims


def reduced(x, dim, keepdim):
    return without(x.sizes, [dim % len(x.sizes)], keepdim) if x.sizes else ()


@recipe("median_dim", "nanmedian_dim", weight=0.4)
def median_dim(b, name):
    x = b.any() if b.chance(0.2) else b.floating()
    if x.dtype == "bool":
        return
    dim, keepdim = b.dim(x), b.chance(0.5)
    if size_of(x, dim):
        sizes = reduced(x, dim, keepdim)
        b.emit(name, (x,), (sizes, x.dtype), (sizes, "int64"), dim=dim, keepdim=keepdim)


@recipe("median", "nanmedian", weight=0.3)
def median(b, name):
    x = b.floating()
    b.emit(name, (x,), ((), x.dtype))


@recipe("mode", weight=0.3)
def mode(b, name):
    # Of numbers: PyTorch's order of NaN is open.
    sizes = b.sizes(low=1)
    dtype = b.rng.choice((*FLOATING, "int64", "bool"))
    x = b.leaf(sizes, dtype, [b.rng.randint(0, 1) if dtype == "bool" else b.rng.randint(-2, 2)
                              for _ in range(math.prod(sizes))])
    dim, keepdim = b.dim(x), b.chance(0.5)
    if size_of(x, dim):
        sizes = reduced(x, dim, keepdim)
        b.emit(name, (x,), (sizes, dtype), (sizes, "int64"), dim=dim, keepdim=keepdim)


@recipe("cummax", "cummin", weight=0.4)
def running(b, name):
    x = b.any() if b.chance(0.2) else b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), (x.sizes, "int64"), dim=b.dim(x))


@recipe("logcumsumexp", weight=0.4)
def logcumsumexp(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), dim=b.dim(x))


@recipe("msort", weight=0.3)
def msort(b, name):
    x = b.floating(low=1)
    b.emit(name, (x,), (x.sizes, x.dtype))


@recipe("unique_dim", "unique_consecutive", weight=0.3)
def unique(b, name):
    x = b.any(low=1)
    dim = None if name == "unique_consecutive" and b.chance(0.5) else b.dim(x)
    if dim is None:
        b.emit(name, (x,), ((0,), x.dtype), (x.sizes, "int64"), ((0,), "int64"), dim=dim)
        forget_sizes(b, x.sizes)
        return
    values = [b.rng.randint(0, 1) for _ in range(math.prod(x.sizes))]
    if not values:
        return
    x = b.leaf(x.sizes, x.dtype, values, False)
    b.emit(name, (x,), ((0,), x.dtype), ((x.sizes[dim],), "int64"), ((0,), "int64"), dim=dim)
    b.known[-3:] = []


@recipe("isin", weight=0.3)
def isin(b, name):
    x = b.any()
    b.emit(name, (x, b.leaf(b.sizes(), b.partner_dtype(x))), (x.sizes, "bool"))


@recipe("quantile", "nanquantile", weight=0.4)
def quantile(b, name):
    x = b.floating(fits=lambda k: math.prod(k.sizes) > 0)
    if x.dtype not in ("float32", "float64") or not math.prod(x.sizes):
        return
    shares = () if b.chance(0.5) else (b.rng.randint(1, 3),)
    q = b.leaf(shares, x.dtype, [b.rng.randint(0, 8) / 8 for _ in range(math.prod(shares))], False)
    dim, keepdim = (None if b.chance(0.3) else b.dim(x)), b.chance(0.5)
    if dim is None:
        sizes = [1] * len(x.sizes) if keepdim else []
    else:
        sizes = reduced(x, dim, keepdim)
    b.emit(name, (x, q), ((*shares, *sizes), x.dtype), dim=dim, keepdim=keepdim,
           between=b.rng.choice((0, 0, 1, 2, 3, 4)))


@recipe("norm", weight=0.3)
def norm(b, name):
    x = b.floating(low=1)
    settings, sizes = over_dims(b, x)
    b.emit(name, (x,), (sizes, x.dtype), number=b.rng.choice((1, 2, 2, 3)), **settings)


@recipe("renorm", weight=0.3)
def renorm(b, name):
    x = b.floating(low=2)
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.choice((1, 2, 3)), dim=b.dim(x),
           limit=b.rng.choice((0.5, 1.0, 4.0)))


@recipe("equal", weight=0.2)
def equal(b, name):
    x = b.any()
    b.emit(name, (x, b.like(x.sizes, b.partner_dtype(x))), ((), "bool"))
