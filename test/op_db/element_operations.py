# SPDX-License-Identifier: Apache-2.0
"""Lines as those of operations.py, for elements of two and three tensors."""

from calls import call, need, number
from more_operations import alike, one_of
from operations import OPERATIONS, is_tensor, unary

one_of(["signbit", "positive"], unary)
one_of(["copysign", "nextafter", "heaviside", "gcd", "lcm", "logaddexp", "logaddexp2", "ldexp"],
       alike)


def of_tensors(do):
    def line(input, other):
        need(is_tensor(input) and is_tensor(other), "a number in place of a tensor")
        return call(do, input, other)
    return line


one_of(["xlogy"], of_tensors)
OPERATIONS["special.xlog1py"] = of_tensors("xlog1py")


def scaled(do):
    return lambda input, a, b, *, value=1: call(do, input, a, b, number=number(value))


one_of(["addcmul", "addcdiv"], scaled)


def rounded_div(down):
    def line(input, other, rounding_mode=None):
        need(is_tensor(other), "a number in place of a tensor")
        return call("div_rounded", input, other, down=down)
    return line


def lerp(input, end, weight):
    if is_tensor(weight):
        return call("lerp", input, end, weight)
    return call("lerp_number", input, end, number=number(weight))


def float_power(input, exponent):
    if is_tensor(exponent):
        return call("float_power", input, exponent)
    return call("float_power_number", input, number=number(exponent))


OPERATIONS.update({
    "div/floor_rounding": rounded_div(True),
    "div/trunc_rounding": rounded_div(False),
    "lerp": lerp,
    "float_power": float_power,
})
