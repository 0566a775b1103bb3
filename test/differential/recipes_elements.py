# SPDX-License-Identifier: Apache-2.0
"""Elements of two and three tensors, and functions in place."""

import sources_elements
from builder import FLOATING, INTEGERS, floating_result, result_dtype, together
from recipes import recipe
from recipes_graphs import target


@recipe("copysign", "xlogy", "xlog1py", "ldexp", weight=0.4)
def floated(b, name):
    x = b.any() if b.chance(0.15) else b.floating()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    b.emit(name, (x, y), (sizes, floating_result(result_dtype(x, y))))


@recipe("copysign_number", "xlogy_number", "number_xlogy", "xlog1py_number", "number_xlog1py",
        "number_remainder", "div_rounded_number", weight=0.15)
def with_number(b, name):
    x = b.any() if b.chance(0.15) else b.floating()
    if x.dtype == "bool":
        return
    number = b.rng.choice((1, 2, 3, 0.5, 1.0, 2.0, -1.5))
    dtype = x.dtype if isinstance(number, int) else floating_result(x.dtype)
    whole = name in ("number_remainder", "div_rounded_number")
    given = {"down": b.chance(0.5)} if name == "div_rounded_number" else {}
    b.emit(name, (x,), (x.sizes, dtype if whole else floating_result(x.dtype)), number=number,
           **given)


@recipe(*[f"number_{name}" for name in sources_elements.BITS], weight=0.08)
def number_bits(b, name):
    x = integers(b)
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.randint(0, 9))


@recipe("number_float_power", weight=0.1)
def number_float_power(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, "float64"), number=b.rng.choice((0.5, 1.0, 2.0, 3.0)))
    forget_other_dtype(b)


@recipe("number_where", "numbers_where", weight=0.2)
def number_where(b, name):
    x = b.floating()
    condition = b.like([n if b.chance(0.8) else 1 for n in x.sizes], "bool")
    if name == "number_where":
        b.emit(name, (condition, x), (x.sizes, x.dtype), number=b.number(x.dtype))
    else:
        b.emit(name, (condition,), (condition.sizes, "float32"), number=b.number("float32"),
               other=b.rng.choice((1, 2, 0.5)))


@recipe("logaddexp", "logaddexp2", "nextafter", weight=0.4)
def of_floats(b, name):
    x = b.floating()
    y, sizes = b.broadcasting(x, x.dtype)
    b.emit(name, (x, y), (sizes, x.dtype))


@recipe("heaviside", weight=0.2)
def heaviside(b, name):
    x = b.any()
    y, sizes = b.broadcasting(x, x.dtype)
    b.emit(name, (x, y), (sizes, x.dtype))


def integers(b):
    dtype = b.rng.choice(INTEGERS)
    return b.find(lambda k: k.dtype == dtype) or b.leaf(b.sizes(), dtype)


@recipe("gcd", "lcm", weight=0.2)
def divisors(b, name):
    x = integers(b)
    y, sizes = b.broadcasting(x, b.rng.choice((x.dtype, "int64")))
    b.emit(name, (x, y), (sizes, result_dtype(x, y)))


@recipe("div_rounded", weight=0.4)
def div_rounded(b, name):
    x = b.any() if b.chance(0.2) else b.floating()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    if "bool" not in (x.dtype, y.dtype):
        b.emit(name, (x, y), (sizes, result_dtype(x, y)), down=b.chance(0.5))


@recipe("float_power", weight=0.3)
def float_power(b, name):
    x = b.any()
    y, sizes = b.broadcasting(x, b.partner_dtype(x))
    b.emit(name, (x, y), (sizes, "float64"))
    forget_other_dtype(b)


@recipe("float_power_number", weight=0.3)
def float_power_number(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, "float64"), number=b.rng.choice((0.5, 1.0, 2.0, 3.0)))
    forget_other_dtype(b)


def forget_other_dtype(b):
    """Few programs mix dtypes, since modules refuse these."""
    if b.dtype != "float64" and b.known and b.known[-1].dtype == "float64":
        b.known.pop()


@recipe("signbit", weight=0.2)
def signbit(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, "bool"))


@recipe("positive", weight=0.2)
def positive(b, name):
    x = b.any()
    if x.dtype != "bool":
        b.emit(name, (x,), (x.sizes, x.dtype))


# --- Three tensors ---
@recipe("lerp", "lerp_number", weight=0.6)
def lerp(b, name):
    x = b.floating()
    y, sizes = b.broadcasting(x, x.dtype)
    if name == "lerp_number":
        b.emit(name, (x, y), (sizes, x.dtype), number=b.rng.choice((0.0, 0.25, 0.5, 0.875, 1.0, 2.0)))
        return
    weight, third = b.broadcasting(x, x.dtype)
    if (wide := together(sizes, third)) is not None:
        b.emit(name, (x, y, weight), (wide, x.dtype))


@recipe("addcmul", "addcdiv", weight=0.6)
def addc(b, name):
    x = b.any() if name == "addcmul" and b.chance(0.1) else b.floating()
    y, second = b.broadcasting(x, b.partner_dtype(x))
    z, third = b.broadcasting(x, b.partner_dtype(x))
    dtype = result_dtype(x, y, z)
    divided = y.dtype not in FLOATING and z.dtype not in FLOATING
    if dtype == "bool" or name == "addcdiv" and divided:
        return
    if (wide := together(second, third)) is not None:
        number = b.rng.choice((1.0, 1.0, 2.0, -3.0) + ((0.5,) if dtype in FLOATING else ()))
        b.emit(name, (x, y, z), (wide, dtype), number=number)


# --- In place ---
def floating_target(b):
    x = target(b)
    return x if x.dtype in FLOATING else None


@recipe(*(f"{name}_" for name in sources_elements.METHODS + sources_elements.ACTIVATIONS),
        weight=0.06)
def write_function(b, name):
    if x := floating_target(b):
        b.emit(name, (x,))


@recipe("clamp_", weight=0.2)
def write_clamp(b, name):
    if x := floating_target(b):
        b.emit(name, (x,), low=b.rng.randint(-4, 0) / 2, high=b.rng.randint(1, 4) / 2)


@recipe("elu_", "leaky_relu_", weight=0.15)
def write_activation(b, name):
    if x := floating_target(b):
        b.emit(name, (x,), number=b.rng.choice((0.25, 0.5, 1.0)))


@recipe("cumsum_", weight=0.15)
def write_cumsum(b, name):
    if x := floating_target(b):
        b.emit(name, (x,), dim=b.dim(x))


@recipe("copysign_", "nextafter_", "xlogy_", "ldexp_", weight=0.12)
def write_pair(b, name):
    if x := floating_target(b):
        b.emit(name, (x, b.like(x.sizes, x.dtype)))


@recipe("gcd_", "lcm_", weight=0.1)
def write_divisors(b, name):
    x = b.find(lambda k: k.dtype in INTEGERS) or b.leaf(b.sizes(), "int64")
    b.emit(name, (x, b.like(x.sizes, x.dtype)))


@recipe("lerp_", weight=0.2)
def write_lerp(b, name):
    if x := floating_target(b):
        b.emit(name, (x, b.like(x.sizes, x.dtype)), number=b.rng.choice((0.25, 0.5, 1.0)))


@recipe("addcmul_", "addcdiv_", weight=0.2)
def write_addc(b, name):
    if x := floating_target(b):
        b.emit(name, (x, b.like(x.sizes, x.dtype), b.like(x.sizes, x.dtype)),
               number=b.rng.choice((1.0, 2.0, -0.5)))
