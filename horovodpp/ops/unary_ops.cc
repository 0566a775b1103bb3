// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/unary_ops.h"

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/ops/arithmetic_ops.h"
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

}  // namespace hvd
