# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for elements of two and three tensors, and functions in place."""

# Functions of hvd that write their operand, by the PyTorch call. Those of dialects.py are methods.
METHODS = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
           "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "floor", "frac",
           "lgamma", "log", "log10", "log1p", "log2", "neg", "rad2deg", "reciprocal", "round",
           "rsqrt", "sigmoid", "sign", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc"]
ACTIVATIONS = ["hardsigmoid", "hardswish", "mish", "relu6", "selu", "silu"]

SOURCES = {
    "heaviside": ("torch.heaviside({0}.detach(), {1}.detach())", "hvd::heaviside({0}, {1})"),
    "xlog1py": ("torch.special.xlog1py({0}, {1})", "hvd::xlog1py({0}, {1})"),
    "div_rounded": ("torch.div({0}, {1}, rounding_mode='floor' if {down} else 'trunc')",
                    "hvd::div({0}, {1}, {down} ? hvd::Rounding::kFloor : hvd::Rounding::kTrunc)"),
    "div_rounded_number": (
        "torch.div({0}, {number}, rounding_mode='floor' if {down} else 'trunc')",
        "hvd::div({0}, {number}, {down} ? hvd::Rounding::kFloor : hvd::Rounding::kTrunc)"),
    "number_where": ("torch.where({0}, {number}, {1})", "hvd::where({0}, {number}, {1})"),
    "numbers_where": ("torch.where({0}, {number}, {other})", "hvd::where({0}, {number}, {other})"),
    "number_xlog1py": ("torch.special.xlog1py({number}, {0})", "hvd::xlog1py({number}, {0})"),
    "xlog1py_number": ("torch.special.xlog1py({0}, {number})", "hvd::xlog1py({0}, {number})"),
    "float_power_number": ("torch.float_power({0}, {number})", "hvd::float_power({0}, {number})"),
    "lerp_number": ("torch.lerp({0}, {1}, {number})", "hvd::lerp({0}, {1}, {number})"),
    "lerp": ("torch.lerp({0}, {1}, {2})", "hvd::lerp({0}, {1}, {2})"),
    "addcmul": ("torch.addcmul({0}, {1}, {2}, value={number})",
                "hvd::addcmul({0}, {1}, {2}, {number})"),
    "addcdiv": ("torch.addcdiv({0}, {1}, {2}, value={number})",
                "hvd::addcdiv({0}, {1}, {2}, {number})"),
    "lerp_": ("{0}.lerp_({1}, {number})", "hvd::lerp_({0}, {1}, {number})"),
    "addcmul_": ("{0}.addcmul_({1}, {2}, value={number})",
                 "hvd::addcmul_({0}, {1}, {2}, {number})"),
    "addcdiv_": ("{0}.addcdiv_({1}, {2}, value={number})",
                 "hvd::addcdiv_({0}, {1}, {2}, {number})"),
    "clamp_": ("{0}.clamp_({low}, {high})", "hvd::clamp_({0}, {low}, {high})"),
    "elu_": ("F.elu({0}, {number}, inplace=True)", "hvd::elu_({0}, {number})"),
    "leaky_relu_": ("F.leaky_relu({0}, {number}, inplace=True)",
                    "hvd::leaky_relu_({0}, {number})"),
    "cumsum_": ("{0}.cumsum_({dim})", "hvd::cumsum_({0}, {dim})"),
}
SOURCES.update({name: (f"torch.{name}({{0}}, {{1}})", f"hvd::{name}({{0}}, {{1}})") for name in [
    "copysign", "nextafter", "gcd", "lcm", "logaddexp", "logaddexp2", "xlogy", "ldexp",
    "float_power"]})
BITS = [f"bitwise_{name}" for name in ("and", "or", "xor", "left_shift", "right_shift")]
SOURCES.update({f"number_{name}": (f"torch.{name}({{number}}, {{0}})",
                                   f"hvd::{name}({{number}}, {{0}})")
                for name in ["remainder", "xlogy", "float_power", *BITS]})
SOURCES.update({f"{name}_number": (f"torch.{name}({{0}}, {{number}})",
                                   f"hvd::{name}({{0}}, {{number}})")
                for name in ["copysign", "xlogy"]})
SOURCES.update({name: (f"torch.{name}({{0}})", f"hvd::{name}({{0}})")
                for name in ["signbit", "positive"]})
SOURCES.update({f"{name}_": (f"{{0}}.{name}_({{1}})", f"hvd::{name}_({{0}}, {{1}})")
                for name in ["copysign", "nextafter", "gcd", "lcm", "xlogy", "ldexp"]})
SOURCES.update({f"{name}_": (f"{{0}}.{name}_()", f"hvd::{name}_({{0}})") for name in METHODS})
SOURCES.update({f"{name}_": (f"F.{name}({{0}}, inplace=True)", f"hvd::{name}_({{0}})")
                for name in ACTIVATIONS})

# Not rounded.
EXACT = {"number_where", "numbers_where", "copysign_number", *(f"number_{name}" for name in BITS),
         "copysign", "nextafter", "heaviside", "gcd", "lcm", "signbit", "positive"}
WRITES_EXACTLY = {"abs_", "ceil_", "floor_", "neg_", "round_", "sign_", "trunc_", "relu6_",
                  "copysign_", "nextafter_", "gcd_", "lcm_", "clamp_"}
ROUNDS_IN_PLACE = {name for name in SOURCES if name.endswith("_")} - WRITES_EXACTLY
