// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <numbers>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// y = e^x:  dx = dy y
struct ExpBackward : Node {
  const char* name() const override { return "ExpBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = mul(grads[0], result.unpack(*this));
  }
  void release_saved() override { result.release(); }
  SavedTensor result;
};

// y = ln x:  dx = dy / x
struct LogBackward : Node {
  const char* name() const override { return "LogBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = div(grads[0], self.unpack(*this));
  }
  void release_saved() override { self.release(); }
  SavedTensor self;
};

// y = max(x, 0):  dx = 0 where y <= 0, else dy
struct ReluBackward : Node {
  const char* name() const override { return "ReluBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = relu_backward(grads[0], result.unpack(*this));
  }
  void release_saved() override { result.release(); }
  SavedTensor result;
};

// dx = relu_backward(dy, y), linear in dy:  ddy = relu_backward(ddx, y)
struct ReluBackwardBackward : ReluBackward {
  const char* name() const override { return "ReluBackwardBackward"; }
};

}  // namespace

Tensor relu_backward(const Tensor& grad, const Tensor& y) {
  Tensor out = elementwise<functors::ReluBackward>(grad, y, "relu");
  if (needs_grad(grad)) {
    auto node = make_node<ReluBackwardBackward>(grad);
    node->result.save(y.detach());
    set_history(out, std::move(node));
  }
  return out;
}

}  // namespace autograd

using autograd::make_node;
using autograd::needs_grad;
using autograd::set_history;

Tensor exp(const Tensor& x) {
  if (autograd::autocast_widens(x)) return exp(autograd::autocast_wider(x));
  Tensor out = autograd::result_of("exp", [&] {
    return autograd::elementwise<autograd::functors::Exp>(x, "exp");
  });
  if (needs_grad(x)) {
    auto node = make_node<autograd::ExpBackward>(x);
    set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

Tensor log(const Tensor& x) {
  if (autograd::autocast_widens(x)) return log(autograd::autocast_wider(x));
  Tensor out = autograd::result_of("log", [&] {
    return autograd::elementwise<autograd::functors::Log>(x, "log");
  });
  if (needs_grad(x)) {
    auto node = make_node<autograd::LogBackward>(x);
    node->self.save(x);
    set_history(out, std::move(node));
  }
  return out;
}

Tensor relu(const Tensor& x) {
  Tensor out = autograd::result_of("relu", [&] {
    return autograd::elementwise<autograd::functors::Relu>(x, "relu");
  });
  if (needs_grad(x)) {
    auto node = make_node<autograd::ReluBackward>(x);
    set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

namespace autograd {
namespace {

struct SavesInput : Node {
  void release_saved() override { self.release(); }
  SavedTensor self;
};

struct SavesResult : Node {
  void release_saved() override { result.release(); }
  SavedTensor result;
};

// y = x^c:  dx = dy c x^(c-1)
struct PowBackward : SavesInput {
  const char* name() const override { return "PowBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor x = self.unpack(*this);
    results[0] = exponent == 0.0
                     ? zeros_like(grads[0])
                     : mul(grads[0], mul(pow(x, exponent - 1.0), exponent));
  }
  double exponent = 1.0;
};

// y = sqrt x:  dx = dy / 2y
struct SqrtBackward : SavesResult {
  const char* name() const override { return "SqrtBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (!is_grad_enabled()) {
      results[0] = elementwise<functors::SqrtBackward>(
          grads[0], result.unpack(*this), name());
      return;
    }
    results[0] = div(grads[0], mul(result.unpack(*this), 2.0));
  }
};

// y = sin x:  dx = dy cos x
struct SinBackward : SavesInput {
  const char* name() const override { return "SinBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = mul(grads[0], cos(self.unpack(*this)));
  }
};

// y = cos x:  dx = -dy sin x
struct CosBackward : SavesInput {
  const char* name() const override { return "CosBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = neg(mul(grads[0], sin(self.unpack(*this))));
  }
};

// y = tanh x:  dx = dy (1 - y^2)
struct TanhBackward : SavesResult {
  const char* name() const override { return "TanhBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (!is_grad_enabled()) {
      results[0] = elementwise<functors::TanhBackward>(
          grads[0], result.unpack(*this), name());
      return;
    }
    const Tensor y = result.unpack(*this);
    results[0] = mul(grads[0], 1.0 - mul(y, y));
  }
};

// y = 1 / (1 + e^-x):  dx = dy y (1 - y)
struct SigmoidBackward : SavesResult {
  const char* name() const override { return "SigmoidBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (!is_grad_enabled()) {
      results[0] = elementwise<functors::SigmoidBackward>(
          grads[0], result.unpack(*this), name());
      return;
    }
    const Tensor y = result.unpack(*this);
    results[0] = mul(grads[0], mul(y, 1.0 - y));
  }
};

// y = erf x:  dx = dy 2 / sqrt(pi) e^(-x^2)
struct ErfBackward : SavesInput {
  const char* name() const override { return "ErfBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (!is_grad_enabled()) {
      results[0] = elementwise<functors::ErfBackward>(
          grads[0], self.unpack(*this), name());
      return;
    }
    const Tensor x = self.unpack(*this);
    results[0] =
        mul(grads[0], mul(exp(neg(mul(x, x))), 2.0 * std::numbers::inv_sqrtpi));
  }
};

// y = x P(x), with P the normal distribution function or its approximation by
// tanh:  dx = dy (P(x) + x P'(x))
struct GeluBackward : SavesInput {
  const char* name() const override { return "GeluBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor x = self.unpack(*this);
    const Tensor& grad = grads[0];
    if (is_grad_enabled()) {
      results[0] =
          mul(grad, form == GeluForm::kExact ? exact_slope(x) : tanh_slope(x));
    } else if (form == GeluForm::kExact) {
      results[0] = elementwise<functors::GeluBackward>(grad, x, name());
    } else {
      results[0] = elementwise<functors::GeluTanhBackward>(grad, x, name());
    }
  }
  static Tensor exact_slope(const Tensor& x) {
    const Tensor below = (erf(x * (1.0 / std::numbers::sqrt2)) + 1.0) * 0.5;
    return below + x * exp(x * x * -0.5) * (0.5 * functors::kGeluScale);
  }
  static Tensor tanh_slope(const Tensor& x) {
    const Tensor square = x * x;
    const Tensor t =
        tanh(x * (square * functors::kGeluCubic + 1.0) * functors::kGeluScale);
    const Tensor slope =
        (square * (3.0 * functors::kGeluCubic) + 1.0) * functors::kGeluScale;
    return (t + 1.0 + x * (1.0 - t * t) * slope) * 0.5;
  }
  GeluForm form = GeluForm::kExact;
};

// y = |x|:  dx = dy sign x
struct AbsBackward : SavesInput {
  const char* name() const override { return "AbsBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor x = self.unpack(*this).detach();
    const Tensor one = full({}, 1.0, {.dtype = x.dtype()});
    const Tensor sign =
        where(gt(x, 0.0), one, where(lt(x, 0.0), neg(one), 0.0));
    // The product keeps NaN where dy is NaN and x is NaN or 0.
    results[0] = mul(grads[0], sign);
  }
};

// y = compute(), whose node saves x. Saves before computing, so that a
// recomputation can stop after the last saved tensor.
template <typename N, typename Compute>
Tensor saving_input(const Tensor& x, OperationName operation, Compute compute) {
  Ref<N> node;
  if (needs_grad(x)) {
    node = make_node<N>(x);
    node->self.save(x);
  }
  Tensor out = result_of(operation, compute);
  if (node) set_history(out, std::move(node));
  return out;
}

// y = f(x), whose node saves y.
template <typename N, typename Compute>
Tensor saving_result(const Tensor& x, OperationName operation,
                     Compute compute) {
  Tensor out = result_of(operation, compute);
  if (needs_grad(x)) {
    auto node = make_node<N>(x);
    set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

}  // namespace
}  // namespace autograd

using autograd::elementwise;
using autograd::floating;
using autograd::saving_input;
using autograd::saving_result;
namespace functors = autograd::functors;

Tensor pow(const Tensor& input, double exponent) {
  const Tensor x = autograd::autocast_wider(input);
  Tensor out = autograd::result_of("pow", [&] {
    return autograd::floating(x, "pow", [exponent](auto v) {
      return std::pow(v, static_cast<decltype(v)>(exponent));
    });
  });
  if (autograd::needs_grad(x)) {
    auto node = autograd::make_node<autograd::PowBackward>(x);
    node->self.save(x);
    node->exponent = exponent;
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor sqrt(const Tensor& x) {
  return saving_result<autograd::SqrtBackward>(
      x, "sqrt", [&] { return elementwise<functors::Sqrt>(x, "sqrt"); });
}

Tensor sin(const Tensor& x) {
  return saving_input<autograd::SinBackward>(x, "sin", [&] {
    return floating(x, "sin", [](auto v) { return std::sin(v); });
  });
}

Tensor cos(const Tensor& x) {
  return saving_input<autograd::CosBackward>(x, "cos", [&] {
    return floating(x, "cos", [](auto v) { return std::cos(v); });
  });
}

Tensor tanh(const Tensor& x) {
  return saving_result<autograd::TanhBackward>(
      x, "tanh", [&] { return elementwise<functors::Tanh>(x, "tanh"); });
}

Tensor sigmoid(const Tensor& x) {
  return saving_result<autograd::SigmoidBackward>(x, "sigmoid", [&] {
    return elementwise<functors::Sigmoid>(x, "sigmoid");
  });
}

Tensor erf(const Tensor& x) {
  return saving_input<autograd::ErfBackward>(
      x, "erf", [&] { return elementwise<functors::Erf>(x, "erf"); });
}

Tensor gelu(const Tensor& x, GeluForm form) {
  const bool exact = form == GeluForm::kExact;
  Tensor out = autograd::result_of("gelu", [&] {
    return exact ? elementwise<functors::Gelu>(x, "gelu")
                 : elementwise<functors::GeluTanh>(x, "gelu");
  });
  if (autograd::needs_grad(x)) {
    auto node = autograd::make_node<autograd::GeluBackward>(x);
    node->self.save(x);
    node->form = form;
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor abs(const Tensor& x) {
  return saving_input<autograd::AbsBackward>(
      x, "abs", [&] { return elementwise<functors::Abs>(x, "abs"); });
}

}  // namespace hvd
