# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations, reductions and products."""

from builder import FLOATING, INTEGERS, floating_result, result_dtype, together
from recipes import recipe


@recipe("add", "sub", "mul", weight=1.5)
def arithmetic(b, name):
    x = b.any() if b.chance(0.1) else b.floating()
    if x.dtype == "bool":
        x = b.floating()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    if y.dtype == "bool" and name == "sub":
        return
    b.emit(name, (x, y) if b.chance(0.5) else (y, x), (sizes, result_dtype(x, y)))


@recipe("div", "atan2")
def div(b, name):
    x = b.any() if b.chance(0.1) else b.floating()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    b.emit(name, (x, y), (sizes, floating_result(result_dtype(x, y))))


@recipe("maximum", "minimum", "fmax", "fmin", weight=0.6)
def extremes(b, name):
    x = b.any() if b.chance(0.15) else b.floating()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    b.emit(name, (x, y), (sizes, result_dtype(x, y)))


@recipe("hypot", "pow_tensor", "remainder", "fmod", "floor_divide", weight=0.5)
def quotients(b, name):
    x = b.floating()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    b.emit(name, (x, y), (sizes, result_dtype(x, y)))


@recipe("remainder_number", "fmod_number", "floor_divide_number", weight=0.4)
def quotients_by_number(b, name):
    x = b.any() if b.chance(0.3) else b.floating()
    if x.dtype == "bool":
        return
    number = b.number(x.dtype)
    b.emit(name, (x,), (x.sizes, x.dtype), number=number or 2)


@recipe("number_pow", weight=0.4)
def number_pow(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.choice((0.0, 0.5, 1.0, 2.0, 2, 3)))


@recipe("logical_and", "logical_or", "logical_xor", weight=0.3)
def logical(b, name):
    x = b.any()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    b.emit(name, (x, y), (sizes, "bool"))


def bits(b):
    dtype = b.rng.choice((*INTEGERS, "bool"))
    return b.find(lambda k: k.dtype == dtype) or b.leaf(b.sizes(), dtype)


@recipe("bitwise_and", "bitwise_or", "bitwise_xor", weight=0.3)
def bitwise(b, name):
    x = bits(b)
    y, sizes = b.broadcasting(x, b.rng.choice((x.dtype, "int64", "bool")))
    b.emit(name, (x, y), (sizes, result_dtype(x, y)))


@recipe("bitwise_left_shift", "bitwise_right_shift", weight=0.3)
def shift(b, name):
    x = bits(b)
    y, sizes = b.broadcasting(x, b.rng.choice((x.dtype, "int64")))
    b.emit(name, (x, y), (sizes, result_dtype(x, y)))


@recipe("bitwise_and_number", "bitwise_or_number", "bitwise_xor_number",
        "bitwise_left_shift_number", "bitwise_right_shift_number", weight=0.2)
def bitwise_number(b, name):
    x = bits(b)
    dtype = "int64" if x.dtype == "bool" else x.dtype
    b.emit(name, (x,), (x.sizes, dtype), number=b.rng.randint(0, 9))


@recipe("bitwise_not", weight=0.3)
def bitwise_not(b, name):
    x = bits(b)
    b.emit(name, (x,), (x.sizes, x.dtype))


@recipe("eq", "ne", "lt", "le", "gt", "ge", weight=0.3)
def compare(b, name):
    x = b.any()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    b.emit(name, (x, y), (sizes, "bool"))


@recipe("eq_number", "ne_number", "lt_number", "le_number", "gt_number", "ge_number", weight=0.3)
def compare_number(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, "bool"), number=b.number(x.dtype))


@recipe("add_number", "mul_number")
def with_number(b, name):
    x = b.any() if b.chance(0.15) else b.floating()
    number = b.number("float32" if b.chance(b.promoting) else x.dtype)
    whole = isinstance(number, int)
    dtype = x.dtype if x.dtype in FLOATING else "float32" if not whole else (
        "int64" if x.dtype == "bool" else x.dtype)
    b.emit(name, (x,), (x.sizes, dtype), number=number)


@recipe("sub_number", "div_number", "number_sub", "number_div", weight=0.5)
def operators(b, name):
    x = b.floating()
    number = b.number(x.dtype)
    b.emit(name, (x,), (x.sizes, x.dtype), number=number)


@recipe("neg", "exp", "log", "relu", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "abs", "silu",
        "rsqrt", "sign", "floor", "ceil", "round")
def unary(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype))


@recipe("leaky_relu", weight=0.5)
def leaky_relu(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.randint(0, 8) / 8)


@recipe("isnan", "isinf", weight=0.3)
def tests(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, "bool"))


@recipe("clone", "logical_not", "nonzero", weight=0.5)
def unary_of_any(b, name):
    x = b.any()
    if name == "nonzero":
        b.emit(name, (x,), ((0, len(x.sizes)), "int64"))
        b.known.pop()  # The number of rows is unknown.
        return
    b.emit(name, (x,), (x.sizes, "bool" if name == "logical_not" else x.dtype))


@recipe("pow")
def pow_(b, name):
    x = b.floating()
    exponent = b.rng.choice((0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1.5, -2.0))
    b.emit(name, (x,), (x.sizes, x.dtype), number=exponent)


@recipe("gelu")
def gelu(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), tanh=b.chance(0.5))


@recipe("clamp")
def clamp(b, name):
    x = b.any() if b.chance(b.promoting) else b.floating()
    if x.dtype in INTEGERS and b.chance(0.5):
        low = b.rng.randint(0, 4)
        b.emit(name, (x,), (x.sizes, x.dtype), low=low, high=low + b.rng.randint(0, 4))
        return
    low = b.rng.randint(-8, 8) / 4
    b.emit(name, (x,), (x.sizes, floating_result(x.dtype)), low=low,
           high=low + b.rng.randint(0, 8) / 4)


@recipe("where", "where_number", "masked_fill")
def choose(b, name):
    x = b.floating()
    if name == "where":
        y, sizes = b.broadcasting(x, b.partner_dtype(x))
        condition = mask_for(b, sizes)
        b.emit(name, (condition, x, y),
               (together(condition.sizes, sizes), result_dtype(x, y)))
    else:
        condition = mask_for(b, x.sizes)
        of = (condition, x) if name == "where_number" else (x, condition)
        b.emit(name, of, (together(condition.sizes, x.sizes), x.dtype),
               number=b.number(x.dtype))


def mask_for(b, sizes):
    return b.like([n if b.chance(0.8) else 1 for n in sizes], "bool")


@recipe("to")
def to(b, name):
    x = b.any()
    dtype = b.rng.choice(FLOATING + ("float32", "float64", "int64", "bool"))
    b.emit(name, (x,), (x.sizes, dtype), dtype=dtype)


@recipe("relu_backward", weight=0.5)
def relu_backward(b, name):
    x = b.floating()
    y = b.like(x.sizes, x.dtype)
    b.emit(name, (x, y), (x.sizes, x.dtype))


@recipe("dropout", "drop_path", weight=0.5)
def dropout(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), p=float(b.rng.randint(0, 1)),
           training=b.chance(0.8))


# --- Reductions ---
@recipe("sum", "mean", "max", "min")
def reduce(b, name):
    x = b.any() if b.chance(0.15) and name != "mean" else b.floating()
    whole = name == "sum" and x.dtype not in FLOATING
    b.emit(name, (x,), ((), "int64" if whole else x.dtype))


@recipe("sum_dims", "mean_dims")
def reduce_dims(b, name):
    x = b.floating(low=1)
    rank = len(x.sizes)
    dims = b.rng.sample(range(rank), b.rng.randint(1, rank))
    keepdim = b.chance(0.5)
    sizes = without(x.sizes, dims, keepdim)
    dims = [d - rank if b.chance(0.3) else d for d in dims]
    b.emit(name, (x,), (sizes, x.dtype), dims=dims, keepdim=keepdim)


def without(sizes, dims, keepdim):
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(sizes))
    return tuple(n for d, n in enumerate(sizes) if d not in dims)


@recipe("max_dim", "min_dim")
def reduce_dim(b, name):
    x = b.floating()
    dim, keepdim = b.dim(x), b.chance(0.5)
    sizes = without(x.sizes, [dim % max(len(x.sizes), 1)], keepdim)
    b.emit(name, (x,), (sizes, x.dtype), (sizes, "int64"), dim=dim, keepdim=keepdim)


@recipe("argmax", weight=0.5)
def argmax(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes[:-1], "int64"))


@recipe("argmax_dim", weight=0.5)
def argmax_dim(b, name):
    x = b.floating()
    dim, keepdim = b.dim(x), b.chance(0.5)
    sizes = without(x.sizes, [dim % max(len(x.sizes), 1)], keepdim)
    b.emit(name, (x,), (sizes, "int64"), dim=dim, keepdim=keepdim)


@recipe("sum_to", weight=0.5)
def sum_to(b, name):
    x = b.floating()
    sizes = [n if b.chance(0.6) else 1 for n in x.sizes]
    sizes = sizes[b.rng.randint(0, len(sizes)) if b.chance(0.4) else 0:]
    b.emit(name, (x,), (sizes, x.dtype), sizes=sizes)


@recipe("sum_of_squares", weight=0.3)
def sum_of_squares(b, name):
    x = b.floating()
    b.emit(name, (x,), ((), "float64"))


@recipe("softmax", "log_softmax", weight=1.5)
def softmax(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), dim=b.dim(x))


# --- Products ---
@recipe("matmul", weight=2)
def matmul(b, name):
    x = b.floating(low=1)
    if len(x.sizes) > 1 and b.chance(0.2):
        y = b.like(x.sizes[-1:], x.dtype)
        sizes = x.sizes[:-1]
    elif len(x.sizes) == 1:
        y = b.like((x.sizes[0], b.size()), x.dtype)
        sizes = y.sizes[1:]
    else:
        batch = [n if b.chance(0.7) else 1 for n in x.sizes[:-2]]
        batch = batch[b.rng.randint(0, len(batch)) if b.chance(0.3) else 0:]
        y = b.like((*batch, x.sizes[-1], b.size()), x.dtype)
        sizes = (*x.sizes[:-1], y.sizes[-1])
    b.emit(name, (x, y), (sizes, x.dtype))


@recipe("bmm")
def bmm(b, name):
    x = b.floating(low=3, high=3)
    y = b.like((x.sizes[0], x.sizes[2], b.size()), x.dtype)
    b.emit(name, (x, y), ((*x.sizes[:2], y.sizes[2]), x.dtype))


@recipe("addmm")
def addmm(b, name):
    x = b.floating(low=2, high=2)
    y = b.like((x.sizes[1], b.size()), x.dtype)
    sizes = (x.sizes[0], y.sizes[1])
    bias = b.like([n if b.chance(0.7) else 1 for n in sizes][b.rng.randint(0, 1):], x.dtype)
    b.emit(name, (bias, x, y), (sizes, x.dtype), beta=b.rng.choice((1.0, 1.0, 0.5, 0.0, -2.0)),
           alpha=b.rng.choice((1.0, 1.0, 0.5, 0.0, 3.0)))


@recipe("linear")
def linear(b, name):
    x = b.floating(low=1)
    weight = b.like((b.size(), x.sizes[-1]), x.dtype)
    bias = b.like(weight.sizes[:1], x.dtype) if b.chance(0.6) else None
    sizes = (*x.sizes[:-1], weight.sizes[0])
    b.emit(name, (x, weight, bias), (sizes, x.dtype))
