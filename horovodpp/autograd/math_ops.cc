#include <cmath>
#include <numbers>

#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/elementwise.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/record.h"

namespace hvd {
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
    const Tensor y = result.unpack(*this);
    results[0] = mul(grads[0], 1.0 - mul(y, y));
  }
};

// y = 1 / (1 + e^-x):  dx = dy y (1 - y)
struct SigmoidBackward : SavesResult {
  const char* name() const override { return "SigmoidBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor y = result.unpack(*this);
    results[0] = mul(grads[0], mul(y, 1.0 - y));
  }
};

// y = erf x:  dx = dy 2 / sqrt(pi) e^(-x^2)
struct ErfBackward : SavesInput {
  const char* name() const override { return "ErfBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor x = self.unpack(*this);
    results[0] =
        mul(grads[0], mul(exp(neg(mul(x, x))), 2.0 * std::numbers::inv_sqrtpi));
  }
};

// y = |x|:  dx = dy sign x
struct AbsBackward : SavesInput {
  const char* name() const override { return "AbsBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor x = self.unpack(*this);
    results[0] =
        where(gt(x, 0.0), grads[0], where(lt(x, 0.0), neg(grads[0]), 0.0));
  }
};

// y = f(x), whose node saves x.
template <typename N, typename F>
Tensor saving_input(const Tensor& x, const char* operation, F f) {
  Tensor out = floating(x, operation, f);
  if (needs_grad(x)) {
    auto node = make_node<N>(x);
    node->self.save(x);
    set_history(out, std::move(node));
  }
  return out;
}

// y = f(x), whose node saves y.
template <typename N, typename F>
Tensor saving_result(const Tensor& x, const char* operation, F f) {
  Tensor out = floating(x, operation, f);
  if (needs_grad(x)) {
    auto node = make_node<N>(x);
    set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

}  // namespace
}  // namespace autograd

using autograd::saving_input;
using autograd::saving_result;

Tensor pow(const Tensor& input, double exponent) {
  const Tensor x = autograd::autocast_wider(input);
  Tensor out = autograd::floating(x, "pow", [exponent](auto v) {
    return std::pow(v, static_cast<decltype(v)>(exponent));
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
      x, "sqrt", [](auto v) { return std::sqrt(v); });
}

Tensor sin(const Tensor& x) {
  return saving_input<autograd::SinBackward>(
      x, "sin", [](auto v) { return std::sin(v); });
}

Tensor cos(const Tensor& x) {
  return saving_input<autograd::CosBackward>(
      x, "cos", [](auto v) { return std::cos(v); });
}

Tensor tanh(const Tensor& x) {
  return saving_result<autograd::TanhBackward>(
      x, "tanh", [](auto v) { return std::tanh(v); });
}

Tensor sigmoid(const Tensor& x) {
  return saving_result<autograd::SigmoidBackward>(x, "sigmoid", [](auto v) {
    return decltype(v)(1) / (decltype(v)(1) + std::exp(-v));
  });
}

Tensor erf(const Tensor& x) {
  return saving_input<autograd::ErfBackward>(
      x, "erf", [](auto v) { return std::erf(v); });
}

Tensor gelu(const Tensor& x) {
  return x * 0.5 * (erf(x * (1.0 / std::numbers::sqrt2)) + 1.0);
}

Tensor abs(const Tensor& x) {
  return saving_input<autograd::AbsBackward>(
      x, "abs", [](auto v) { return std::abs(v); });
}

}  // namespace hvd
