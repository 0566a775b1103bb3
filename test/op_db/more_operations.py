# SPDX-License-Identifier: Apache-2.0
"""Lines as those of operations.py, for ops/binary, ops/shapes, ops/indices and ops/reductions."""

from calls import call, need, number, numbers
from operations import OPERATIONS, binary, is_tensor, unary


def one_of(names, line):
    """The same line for several names."""
    OPERATIONS.update({name: line(name) for name in names})


def alike(do):
    return lambda *operands: call(do, *operands)


def listed(do):
    return lambda tensors: call(do, *tensors)


def several(values):
    """Sizes, given one by one or as a list."""
    return numbers(values[0] if len(values) == 1 and not isinstance(values[0], int) else values)


def binary_of_numbers(do):
    """As binary(); the first may be a number."""
    def line(input, other):
        if is_tensor(input):
            return binary(do)(input, other)
        return call(f"number_{do}", other, number=number(input))
    return line


def reflected(do):
    return lambda input, other: call(f"number_{do}", input, number=number(other))


one_of(["maximum", "minimum", "fmax", "fmin", "fmod", "atan2", "hypot", "logical_and",
        "logical_or", "logical_xor", "floor_divide"], binary)
one_of(["remainder", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
        "bitwise_right_shift", "copysign", "xlogy"], binary_of_numbers)
OPERATIONS["special.xlog1py"] = binary_of_numbers("xlog1py")
OPERATIONS.update({f"__r{name}__": reflected(do) for name, do in {
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "pow": "pow"}.items()})
OPERATIONS["max/binary"] = binary("maximum")
OPERATIONS["min/binary"] = binary("minimum")

# --- Shapes ---
one_of(["bitwise_not", "atleast_1d", "atleast_2d", "atleast_3d", "fliplr", "flipud"], unary)
one_of(["tril", "triu", "diag"],
       lambda do: lambda input, diagonal=0: call(do, input, offset=diagonal))
one_of(["hstack", "vstack", "dstack", "column_stack"], listed)
one_of(["outer", "dot", "mv"], alike)
OPERATIONS.update({
    "repeat": lambda input, *repeats: call("repeat", input, repeats=several(repeats)),
    "tile": lambda input, *dims: call("tile", input, repeats=several(dims)),
    "baddbmm": lambda input, batch1, batch2, beta=1, alpha=1: call(
        "baddbmm", input, batch1, batch2, beta=number(beta), alpha=number(alpha)),
    "diagonal": lambda input, offset=0, dim1=0, dim2=1: call(
        "diagonal", input, offset=offset, dim1=dim1, dim2=dim2),
    "diag_embed": lambda input, offset=0, dim1=-2, dim2=-1: call(
        "diag_embed", input, offset=offset, dim1=dim1, dim2=dim2),
    "unfold": lambda input, dimension, size, step: call(
        "unfold", input, dim=dimension, size=size, step=step),
    "rot90": lambda input, k=1, dims=(0, 1): call(
        "rot90", input, k=k, dim0=dims[0], dim1=dims[1]),
    "einsum": lambda tensors, equation: call("einsum", *tensors, equation=equation),
    "flatten": lambda input, start_dim=0, end_dim=-1: call(
        "flatten", input, start=start_dim, end=end_dim),
    "unflatten": lambda input, dim, sizes: call("unflatten", input, dim=dim, sizes=numbers(sizes)),
    "movedim": lambda input, source, destination: call(
        "movedim", input, places=numbers(source), to=numbers(destination)),
})


# --- Reductions ---
def over_dims(do):
    def line(input, dim=(), keepdim=False, *, dtype=None):
        need(dtype is None, "dtype")
        need(input.dim() > 0, "a scalar's dimension")
        return call(do, input, dims=[] if dim is None else numbers(dim), keepdim=keepdim)
    return line


def spread(do):
    def line(input, dim=(), unbiased=True, keepdim=False, *, correction=None):
        need(isinstance(unbiased, bool), "an overload")
        need(not isinstance(dim, bool), "an overload")
        return call(do, input, dims=[] if dim is None else numbers(dim), keepdim=keepdim,
                    correction=number(int(unbiased) if correction is None else correction))
    return line


def along(do):
    def line(input, dim, *, dtype=None):
        need(dtype is None, "dtype")
        return call(do, input, dim=dim)
    return line


def prod(input, dim=None, keepdim=False, *, dtype=None):
    need(dtype is None, "dtype")
    if dim is None:
        return call("prod", input)
    return call("prod_dim", input, dim=dim, keepdim=keepdim)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    need(dtype is None, "dtype")
    need(x.dim() > 0, "a scalar's dimension")
    return call("vector_norm", x, number=number(float(ord)), keepdim=keepdim,
                dims=[] if dim is None else numbers(dim))


one_of(["amax", "amin", "logsumexp", "nansum", "nanmean", "any", "all"], over_dims)
one_of(["var", "std"], spread)
one_of(["cumsum", "cumprod"], along)
OPERATIONS.update({"prod": prod, "linalg.vector_norm": vector_norm})
OPERATIONS["count_nonzero"] = lambda input, dim=(): call(
    "count_nonzero", input, dims=[] if dim is None else numbers(dim))


def argmin(input, dim=None, keepdim=False):
    need(dim is not None, "of all elements")
    return call("argmin", input, dim=dim, keepdim=keepdim)


OPERATIONS["argmin"] = argmin


def diff(input, n=1, dim=-1, prepend=None, append=None):
    need(n == 1 and prepend is None and append is None, "n, prepend and append")
    return call("diff", input, dim=dim)


OPERATIONS["diff"] = diff


# --- Functions of elements, and orders ---
one_of(["log1p", "expm1", "log2", "log10", "exp2", "reciprocal", "square", "tan", "asin", "acos",
        "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "sinc", "erfc", "erfinv", "lgamma",
        "digamma", "trunc", "frac", "isfinite"], unary)
OPERATIONS.update({
    "nn.functional.selu": lambda input, inplace=False: call("selu", input),
    "nn.functional.celu": lambda input, alpha=1.0, inplace=False: call(
        "celu", input, number=number(alpha)),
    "nn.functional.hardshrink": lambda input, lambd=0.5: call(
        "hardshrink", input, number=number(lambd)),
    "nn.functional.softshrink": lambda input, lambd=0.5: call(
        "softshrink", input, number=number(lambd)),
    "nn.functional.threshold": lambda input, threshold, value, inplace=False: call(
        "threshold", input, bound=number(threshold), number=number(value)),
})


# --- Indices ---
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    need(reduce is None, "reduce")
    source = src if value is None else value
    if is_tensor(source):
        return call("scatter", input, index, source, dim=dim)
    return call("scatter_number", input, index, dim=dim, number=number(source))


OPERATIONS["scatter"] = scatter
