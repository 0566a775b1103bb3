// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/integers.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// The derivatives of functions of one element. While derivatives are recorded,
// each is made of operations; otherwise F computes dx from dy and a, the input
// or the result, in one pass.
template <typename F, typename Recorded>
Tensor derivative(const Tensor& dy, const Tensor& a, const char* name,
                  Recorded recorded) {
  return is_grad_enabled() ? recorded() : elementwise<F>(dy, a, name);
}

// y = compute(), whose node saves x. Saves before computing, so that a
// recomputation can stop after the last saved tensor.
template <typename Compute, typename Formula>
Tensor saving_input(const Tensor& x, OperationName operation, const char* name,
                    Compute compute, Formula formula) {
  Ref<SavingNode<Formula>> node;
  if (needs_grad(x)) {
    node = make_formula<SavingNode>(name, x, std::move(formula));
    node->saved.save(x);
  }
  Tensor out = result_of(operation, compute);
  if (node) set_history(out, std::move(node));
  return out;
}

// y = F(x), whose node saves y.
template <typename F, typename Formula>
Tensor saving_result(const Tensor& x, OperationName operation, const char* name,
                     Formula formula) {
  Tensor out =
      result_of(operation, [&] { return elementwise<F>(x, operation.text()); });
  if (needs_grad(x)) record_saving_result(out, name, x, std::move(formula));
  return out;
}

// The slopes of gelu: y = x P(x), with P the normal distribution function or
// its approximation by tanh:  dx = dy (P(x) + x P'(x))
Tensor exact_slope(const Tensor& x) {
  const Tensor below = (erf(x * (1.0 / std::numbers::sqrt2)) + 1.0) * 0.5;
  return below + x * exp(x * x * -0.5) * (0.5 * functors::kGeluScale);
}
Tensor tanh_slope(const Tensor& x) {
  const Tensor square = x * x;
  const Tensor t =
      tanh(x * (square * functors::kGeluCubic + 1.0) * functors::kGeluScale);
  const Tensor slope =
      (square * (3.0 * functors::kGeluCubic) + 1.0) * functors::kGeluScale;
  return (t + 1.0 + x * (1.0 - t * t) * slope) * 0.5;
}

// A power of integers or bools, which has no derivative.
Tensor integer_power(const Tensor& x, Scalar c) {
  report_reads(x);
  const DType dtype = result_type(x, c);
  if (is_floating_point(dtype)) return pow(to(x, dtype), c);
  if (c.value() < 0) {
    throw InvalidArgument(
        absl::StrCat("pow: ", x.describe(), " and the integer ", c.value(),
                     "; an integer to a negative power is a fraction: convert "
                     "the tensor with to(), or write the power as a double"));
  }
  return result_of("pow", [&] {
    const Tensor in = in_dtype(x, dtype);
    const Tensor out = empty_like(in);
    if (dtype == DType::kBool) {
      map<bool, bool>(out, in,
                      [all = c.value() == 0](bool v) { return all || v; });
      return out;
    }
    visit_integers(dtype, "pow", [&]<typename T>(TypeTag<T>) {
      map<T, T>(out, in, [n = scalar_to<std::int64_t>(c.value())](T v) {
        return integers::power(v, n);
      });
    });
    return out;
  });
}

}  // namespace

// dx = relu_backward(dy, y), linear in dy:  ddy = relu_backward(ddx, y)
Tensor relu_backward(const Tensor& grad, const Tensor& y) {
  Tensor out = elementwise<functors::ReluBackward>(grad, y, "relu");
  if (needs_grad(grad)) {
    record_saving(out, "ReluBackwardBackward", grad, y.detach(),
                  [](Tensor& ddx, const Tensor& result) {
                    return relu_backward(ddx, result);
                  });
  }
  return out;
}

}  // namespace autograd

using autograd::derivative;
using autograd::elementwise;
using autograd::floating;
using autograd::needs_grad;
using autograd::record_saving;
using autograd::result_of;
using autograd::saving_input;
using autograd::saving_result;
namespace functors = autograd::functors;

// dx = dy y
Tensor exp(const Tensor& x) {
  if (autograd::autocast_widens(x)) return exp(autograd::autocast_wider(x));
  return saving_result<functors::Exp>(
      x, "exp", "ExpBackward",
      [](Tensor& dy, const Tensor& y) { return mul(dy, y); });
}

// dx = dy / x
Tensor log(const Tensor& x) {
  if (autograd::autocast_widens(x)) return log(autograd::autocast_wider(x));
  Tensor out =
      result_of("log", [&] { return elementwise<functors::Log>(x, "log"); });
  if (needs_grad(x)) {
    record_saving(out, "LogBackward", x, x,
                  [](Tensor& dy, const Tensor& in) { return div(dy, in); });
  }
  return out;
}

// dx = 0 where y <= 0, else dy
Tensor relu(const Tensor& x) {
  return saving_result<functors::Relu>(x, "relu", "ReluBackward",
                                       [](Tensor& dy, const Tensor& y) {
                                         return autograd::relu_backward(dy, y);
                                       });
}

// y = x^c:  dx = dy c x^(c-1)
Tensor pow(const Tensor& input, Scalar c) {
  autograd::check_defined(input, "pow");
  const double exponent = c.value();
  if (!is_floating_point(input.dtype())) {
    return autograd::integer_power(input, c);
  }
  const Tensor x = autograd::autocast_wider(input);
  Tensor out = result_of("pow", [&] {
    if (exponent == 2.0) return elementwise<functors::Mul>(x, x, "pow");
    if (exponent == 3.0) return elementwise<functors::Cube>(x, "pow");
    return floating(x, "pow", [exponent](auto v) {
      return std::pow(v, static_cast<decltype(v)>(exponent));
    });
  });
  if (needs_grad(x)) {
    record_saving(out, "PowBackward", x, x,
                  [exponent](Tensor& dy, const Tensor& in) {
                    if (exponent == 0.0) return zeros_like(dy);
                    if (exponent == 2.0) return mul(dy, mul(in, 2.0));
                    return mul(dy, mul(pow(in, exponent - 1.0), exponent));
                  });
  }
  return out;
}

// dx = dy / 2y
Tensor sqrt(const Tensor& x) {
  constexpr const char* kNode = "SqrtBackward";
  return saving_result<functors::Sqrt>(
      x, "sqrt", kNode, [](Tensor& dy, const Tensor& y) {
        return derivative<functors::SqrtBackward>(
            dy, y, kNode, [&] { return div(dy, mul(y, 2.0)); });
      });
}

// dx = dy cos x
Tensor sin(const Tensor& x) {
  constexpr const char* kNode = "SinBackward";
  return saving_input(
      x, "sin", kNode, [&] { return elementwise<functors::Sin>(x, "sin"); },
      [](Tensor& dy, const Tensor& in) {
        return derivative<functors::SinBackward>(
            dy, in, kNode, [&] { return mul(dy, cos(in)); });
      });
}

// dx = -dy sin x
Tensor cos(const Tensor& x) {
  constexpr const char* kNode = "CosBackward";
  return saving_input(
      x, "cos", kNode, [&] { return elementwise<functors::Cos>(x, "cos"); },
      [](Tensor& dy, const Tensor& in) {
        return derivative<functors::CosBackward>(
            dy, in, kNode, [&] { return neg(mul(dy, sin(in))); });
      });
}

// dx = dy (1 - y^2)
Tensor tanh(const Tensor& x) {
  constexpr const char* kNode = "TanhBackward";
  return saving_result<functors::Tanh>(
      x, "tanh", kNode, [](Tensor& dy, const Tensor& y) {
        return derivative<functors::TanhBackward>(
            dy, y, kNode, [&] { return mul(dy, 1.0 - mul(y, y)); });
      });
}

// dx = dy y (1 - y)
Tensor sigmoid(const Tensor& x) {
  constexpr const char* kNode = "SigmoidBackward";
  return saving_result<functors::Sigmoid>(
      x, "sigmoid", kNode, [](Tensor& dy, const Tensor& y) {
        return derivative<functors::SigmoidBackward>(
            dy, y, kNode, [&] { return mul(dy, mul(y, 1.0 - y)); });
      });
}

// dx = dy 2 / sqrt(pi) e^(-x^2)
Tensor erf(const Tensor& x) {
  constexpr const char* kNode = "ErfBackward";
  return saving_input(
      x, "erf", kNode, [&] { return elementwise<functors::Erf>(x, "erf"); },
      [](Tensor& dy, const Tensor& in) {
        return derivative<functors::ErfBackward>(dy, in, kNode, [&] {
          return mul(
              dy, mul(exp(neg(mul(in, in))), 2.0 * std::numbers::inv_sqrtpi));
        });
      });
}

Tensor gelu(const Tensor& x, GeluForm form) {
  constexpr const char* kNode = "GeluBackward";
  const bool exact = form == GeluForm::kExact;
  Tensor out = result_of("gelu", [&] {
    return exact ? elementwise<functors::Gelu>(x, "gelu")
                 : elementwise<functors::GeluTanh>(x, "gelu");
  });
  if (!needs_grad(x)) return out;
  record_saving(out, kNode, x, x, [exact](Tensor& dy, const Tensor& in) {
    const auto slope = [&] {
      return mul(dy,
                 exact ? autograd::exact_slope(in) : autograd::tanh_slope(in));
    };
    return exact ? derivative<functors::GeluBackward>(dy, in, kNode, slope)
                 : derivative<functors::GeluTanhBackward>(dy, in, kNode, slope);
  });
  return out;
}

// dx = dy sign x
Tensor abs(const Tensor& x) {
  constexpr const char* kNode = "AbsBackward";
  return saving_input(
      x, "abs", kNode, [&] { return elementwise<functors::Abs>(x, "abs"); },
      [](Tensor& dy, const Tensor& in) {
        return derivative<functors::AbsBackward>(dy, in.detach(), kNode, [&] {
          const Tensor at = in.detach();
          const Tensor one = full({}, 1.0, {.dtype = at.dtype()});
          // The product keeps NaN where dy is NaN and x is NaN or 0.
          return mul(dy, elementwise<functors::AbsBackward>(one, at, kNode));
        });
      });
}

}  // namespace hvd
