# SPDX-License-Identifier: Apache-2.0
"""Lines as those of operations.py, for medians, quantiles, running extremes, distances and places."""

from calls import call, need, number, numbers
from more_operations import alike, along, one_of
from operations import OPERATIONS, is_tensor, unary

one_of(["msort"], unary)
one_of(["cummax", "cummin"], lambda do: lambda input, dim: call(do, input, dim=dim))
one_of(["logcumsumexp"], along)
BETWEEN = ["linear", "lower", "higher", "nearest", "midpoint"]


def middle(do):
    def line(input, dim=None, keepdim=False):
        need(input.dim() > 0, "a scalar's dimension")
        if dim is None:
            return call(do, input)
        return call(f"{do}_dim", input, dim=dim, keepdim=keepdim)
    return line


def shares(do):
    def line(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        need(is_tensor(q), "a share as a number")
        return call(do, input, q, dim=dim, keepdim=keepdim, between=BETWEEN.index(interpolation))
    return line


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    need(is_tensor(elements) and is_tensor(test_elements), "a number in place of a tensor")
    need(not invert, "invert: ours is logical_not()")
    return call("isin", elements, test_elements)


def norm(input, p=2, dim=None, keepdim=False, *, dtype=None):
    need(dtype is None, "dtype")
    need(input.dim() > 0, "a scalar's dimension")
    return call("norm", input, number=number(p), keepdim=keepdim,
                dims=[] if dim is None else numbers(dim))


one_of(["median", "nanmedian"], middle)
one_of(["quantile", "nanquantile"], shares)
OPERATIONS.update({
    "mode": lambda input, dim=-1, keepdim=False: call("mode", input, dim=dim, keepdim=keepdim),
    "isin": isin,
    "norm": norm,
    "renorm": lambda input, p, dim, maxnorm: call("renorm", input, number=number(p), dim=dim,
                                                  limit=number(maxnorm)),
})


# --- Distances and places ---
one_of(["argwhere", "corrcoef"], unary)
one_of(["vdot"], alike)


def cov(input, *, correction=1, fweights=None, aweights=None):
    if fweights is None and aweights is None:
        return call("cov", input, correction=correction)
    return call("cov_weighted", input, fweights, aweights, correction=correction)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    dims = [] if dim is None else numbers(dim)
    if isinstance(spacing, (list, tuple)) and is_tensor(spacing[0]):
        return call("gradient", input, *spacing, spacing=None, dims=dims, edge_order=edge_order)
    one = spacing is None or isinstance(spacing, (int, float))
    need(one or len(spacing) == len(dims or input.shape), "a list of one number for all dimensions")
    return call("gradient", input, spacing=[float(spacing or 1)] if one else list(spacing),
                dims=dims, edge_order=edge_order)


def cross(input, other, dim=None):
    if dim is None:
        need(3 in input.shape, "a dimension of 3")
        dim = list(input.shape).index(3)
    return call("cross", input, other, dim=dim)


def cumulative_trapezoid(y, x=None, *, dim=-1, dx=1):
    need(x is None, "places as a tensor")
    return call("cumulative_trapezoid", y, dim=dim, number=number(dx))


OPERATIONS.update({
    "cov": cov,
    "gradient": gradient,
    "cross": cross,
    "linalg.cross": lambda input, other, dim=-1: call("cross", input, other, dim=dim),
    "cumulative_trapezoid": cumulative_trapezoid,
    "cdist": lambda x1, x2, p=2.0, compute_mode=None: call("cdist", x1, x2, number=number(p)),
    "combinations": lambda input, r=2, with_replacement=False: call(
        "combinations", input, count=r, repeated=with_replacement),
    "unravel_index": lambda indices, shape: call("unravel_index", indices, sizes=numbers(shape)),
    "mT": lambda input: call("matrix_transpose", input),
})
