# SPDX-License-Identifier: Apache-2.0
"""Lines as those of operations.py, for elements of two and three tensors."""

from calls import call, number
from more_operations import alike, one_of
from operations import OPERATIONS, is_tensor, unary

one_of(["signbit", "positive"], unary)
one_of(["nextafter", "heaviside", "gcd", "lcm", "logaddexp", "logaddexp2", "ldexp"],
       alike)


def scaled(do):
    return lambda input, a, b, *, value=1: call(do, input, a, b, number=number(value))


one_of(["addcmul", "addcdiv"], scaled)


def rounded_div(down):
    def line(input, other, rounding_mode=None):
        if is_tensor(other):
            return call("div_rounded", input, other, down=down)
        return call("div_rounded_number", input, number=number(other), down=down)
    return line


def lerp(input, end, weight):
    if is_tensor(weight):
        return call("lerp", input, end, weight)
    return call("lerp_number", input, end, number=number(weight))


def float_power(input, exponent):
    if not is_tensor(input):
        return call("number_float_power", exponent, number=number(input))
    if is_tensor(exponent):
        return call("float_power", input, exponent)
    return call("float_power_number", input, number=number(exponent))


OPERATIONS.update({
    "div/floor_rounding": rounded_div(True),
    "div/trunc_rounding": rounded_div(False),
    "lerp": lerp,
    "float_power": float_power,
})
