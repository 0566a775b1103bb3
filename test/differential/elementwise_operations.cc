// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

void add_unary(Operations& all) {
  using Unary = Tensor (*)(const Tensor&);
  const std::map<std::string, Unary> table = {{"neg", neg},
                                              {"exp", exp},
                                              {"log", log},
                                              {"relu", relu},
                                              {"sqrt", sqrt},
                                              {"sin", sin},
                                              {"cos", cos},
                                              {"tanh", tanh},
                                              {"sigmoid", sigmoid},
                                              {"erf", erf},
                                              {"abs", abs},
                                              {"clone", clone},
                                              {"nonzero", nonzero},
                                              {"logical_not", logical_not},
                                              {"silu", silu},
                                              {"rsqrt", rsqrt},
                                              {"sign", sign},
                                              {"floor", floor},
                                              {"ceil", ceil},
                                              {"round", round},
                                              {"isnan", isnan},
                                              {"isinf", isinf},
                                              {"bitwise_not", bitwise_not},
                                              {"log1p", log1p},
                                              {"expm1", expm1},
                                              {"log2", log2},
                                              {"log10", log10},
                                              {"exp2", exp2},
                                              {"reciprocal", reciprocal},
                                              {"square", square},
                                              {"tan", tan},
                                              {"asin", asin},
                                              {"acos", acos},
                                              {"atan", atan},
                                              {"sinh", sinh},
                                              {"cosh", cosh},
                                              {"asinh", asinh},
                                              {"acosh", acosh},
                                              {"atanh", atanh},
                                              {"sinc", sinc},
                                              {"erfc", erfc},
                                              {"erfinv", erfinv},
                                              {"lgamma", lgamma},
                                              {"digamma", digamma},
                                              {"trunc", trunc},
                                              {"frac", frac},
                                              {"isfinite", isfinite},
                                              {"selu", selu},
                                              {"log_sigmoid", log_sigmoid},
                                              {"mish", mish},
                                              {"softsign", softsign},
                                              {"relu6", relu6},
                                              {"hardsigmoid", hardsigmoid},
                                              {"hardswish", hardswish}};
  for (const auto& [name, operation] : table) {
    all[name] = [operation = operation](const Statement& s) {
      return Results{operation(s[0])};
    };
  }
}

void add_binary(Operations& all) {
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const std::map<std::string, Binary> table = {
      {"add", add},
      {"sub", sub},
      {"mul", mul},
      {"div", div},
      {"eq", eq},
      {"ne", ne},
      {"lt", lt},
      {"le", le},
      {"gt", gt},
      {"ge", ge},
      {"pow_tensor", pow},
      {"maximum", maximum},
      {"minimum", minimum},
      {"fmax", fmax},
      {"fmin", fmin},
      {"remainder", remainder},
      {"fmod", fmod},
      {"floor_divide", floor_divide},
      {"atan2", atan2},
      {"hypot", hypot},
      {"logical_and", logical_and},
      {"logical_or", logical_or},
      {"logical_xor", logical_xor},
      {"bitwise_and", bitwise_and},
      {"bitwise_or", bitwise_or},
      {"bitwise_xor", bitwise_xor},
      {"bitwise_left_shift", bitwise_left_shift},
      {"bitwise_right_shift", bitwise_right_shift}};
  for (const auto& [name, operation] : table) {
    all[name] = [operation = operation](const Statement& s) {
      return Results{operation(s[0], s[1])};
    };
  }
}

void add_with_number(Operations& all) {
  using WithScalar = Tensor (*)(const Tensor&, Scalar);
  const std::map<std::string, WithScalar> scalars = {
      {"add_number", add},
      {"sub_number", sub},
      {"mul_number", mul},
      {"div_number", div},
      {"pow", pow},
      {"remainder_number", remainder},
      {"fmod_number", fmod},
      {"floor_divide_number", floor_divide},
      {"bitwise_and_number", bitwise_and},
      {"bitwise_or_number", bitwise_or},
      {"bitwise_xor_number", bitwise_xor},
      {"bitwise_left_shift_number", bitwise_left_shift},
      {"bitwise_right_shift_number", bitwise_right_shift},
      {"number_sub", [](const Tensor& x, Scalar n) { return n - x; }},
      {"number_div", [](const Tensor& x, Scalar n) { return n / x; }},
      {"number_pow", [](const Tensor& x, Scalar n) { return pow(n, x); }},
      {"number_remainder",
       [](const Tensor& x, Scalar n) { return remainder(n, x); }},
      {"number_xlogy", [](const Tensor& x, Scalar n) { return xlogy(n, x); }},
      {"number_xlog1py",
       [](const Tensor& x, Scalar n) { return xlog1py(n, x); }},
      {"number_float_power",
       [](const Tensor& x, Scalar n) { return float_power(n.value(), x); }},
      {"number_bitwise_and",
       [](const Tensor& x, Scalar n) { return bitwise_and(n, x); }},
      {"number_bitwise_or",
       [](const Tensor& x, Scalar n) { return bitwise_or(n, x); }},
      {"number_bitwise_xor",
       [](const Tensor& x, Scalar n) { return bitwise_xor(n, x); }},
      {"number_bitwise_left_shift",
       [](const Tensor& x, Scalar n) { return bitwise_left_shift(n, x); }},
      {"number_bitwise_right_shift",
       [](const Tensor& x, Scalar n) { return bitwise_right_shift(n, x); }},
      {"copysign_number", copysign},
      {"xlogy_number", xlogy},
      {"xlog1py_number", xlog1py}};
  for (const auto& [name, operation] : scalars) {
    all[name] = [operation = operation](const Statement& s) {
      return Results{operation(s[0], s.scalar("number"))};
    };
  }
  using WithNumber = Tensor (*)(const Tensor&, double);
  const std::map<std::string, WithNumber> table = {{"eq_number", eq},
                                                   {"ne_number", ne},
                                                   {"lt_number", lt},
                                                   {"le_number", le},
                                                   {"gt_number", gt},
                                                   {"ge_number", ge},
                                                   {"leaky_relu", leaky_relu},
                                                   {"elu", elu},
                                                   {"celu", celu},
                                                   {"hardshrink", hardshrink},
                                                   {"softshrink", softshrink}};
  for (const auto& [name, operation] : table) {
    all[name] = [operation = operation](const Statement& s) {
      return Results{operation(s[0], s.number("number"))};
    };
  }
}

void add_functions_with_parameters(Operations& all) {
  all["logit"] = [](const Statement& s) {
    return Results{logit(s[0], s.number("eps"))};
  };
  all["polygamma"] = [](const Statement& s) {
    return Results{polygamma(s.integer("n"), s[0])};
  };
  all["nan_to_num"] = [](const Statement& s) {
    return Results{nan_to_num(s[0], {.nan = s.number("number")})};
  };
  all["isclose"] = [](const Statement& s) {
    return Results{isclose(s[0], s[1], {.equal_nan = s.flag("equal_nan")})};
  };
  all["allclose"] = [](const Statement& s) {
    const bool close = allclose(s[0], s[1], {.atol = s.number("atol")});
    return Results{full({}, close ? 1.0 : 0.0, {.dtype = DType::kBool})};
  };
  all["softplus"] = [](const Statement& s) {
    return Results{softplus(s[0], s.number("beta"), s.number("threshold"))};
  };
  all["hardtanh"] = [](const Statement& s) {
    return Results{hardtanh(s[0], s.number("low"), s.number("high"))};
  };
  all["threshold"] = [](const Statement& s) {
    return Results{threshold(s[0], s.number("bound"), s.number("number"))};
  };
  all["glu"] = [](const Statement& s) {
    return Results{glu(s[0], s.integer("dim"))};
  };
  all["rrelu"] = [](const Statement& s) {
    return Results{rrelu(s[0], {.lower = s.number("lower"),
                                .upper = s.number("upper"),
                                .training = s.flag("training")})};
  };
}

}  // namespace

void add_elementwise_operations(Operations& all) {
  add_unary(all);
  add_functions_with_parameters(all);
  add_binary(all);
  add_with_number(all);
  all["gelu"] = [](const Statement& s) {
    return Results{
        gelu(s[0], s.flag("tanh") ? GeluForm::kTanh : GeluForm::kExact)};
  };
  all["clamp"] = [](const Statement& s) {
    return Results{clamp(s[0], s.scalar("low"), s.scalar("high"))};
  };
  all["where"] = [](const Statement& s) {
    return Results{where(s[0], s[1], s[2])};
  };
  all["where_number"] = [](const Statement& s) {
    return Results{where(s[0], s[1], s.scalar("number"))};
  };
  all["number_where"] = [](const Statement& s) {
    return Results{where(s[0], s.scalar("number"), s[1])};
  };
  all["numbers_where"] = [](const Statement& s) {
    return Results{where(s[0], s.scalar("number"), s.scalar("other"))};
  };
  all["masked_fill"] = [](const Statement& s) {
    return Results{masked_fill(s[0], s[1], s.number("number"))};
  };
  all["to"] = [](const Statement& s) {
    return Results{to(s[0], s.dtype("dtype"))};
  };
  all["relu_backward"] = [](const Statement& s) {
    return Results{autograd::relu_backward(s[0], s[1])};
  };
  all["dropout"] = [](const Statement& s) {
    return Results{dropout(s[0], s.number("p"), s.flag("training"))};
  };
  all["drop_path"] = [](const Statement& s) {
    return Results{drop_path(s[0], s.number("p"), s.flag("training"))};
  };
}

}  // namespace hvd::differential
