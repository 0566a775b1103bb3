// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/elementwise_ops.h"

#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

// Promotes operands to one dtype for autocast, then runs the operation.
using BinaryOperation = Tensor (*)(const Tensor&, const Tensor&);
Tensor promoted(BinaryOperation operation, Tensor a, Tensor b) {
  autocast_promote(a, b);
  return operation(a, b);
}

// Gradients have the shape of the result; the engine sums them down to the
// inputs' shapes.

// z = a + b:  da = dz,  db = dz
struct AddBackward : Node {
  const char* name() const override { return "AddBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = grads[0];
    if (wants(1)) results[1] = grads[0];
  }
};

// z = a - b:  da = dz,  db = -dz
struct SubBackward : Node {
  const char* name() const override { return "SubBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = grads[0];
    if (wants(1)) results[1] = neg(grads[0]);
  }
};

struct SavesBoth : Node {
  void release_saved() override {
    a.release();
    b.release();
  }
  SavedTensor a;
  SavedTensor b;
};

// z = a b:  da = dz b,  db = dz a
struct MulBackward : SavesBoth {
  const char* name() const override { return "MulBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = mul(grads[0], b.unpack(*this));
    if (wants(1)) results[1] = mul(grads[0], a.unpack(*this));
  }
};

// z = a / b:  da = dz / b,  db = -dz a / b^2
struct DivBackward : SavesBoth {
  const char* name() const override { return "DivBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor divisor = b.unpack(*this);
    const Tensor quotient = div(grads[0], divisor);
    if (wants(0)) results[0] = quotient;
    if (wants(1)) {
      results[1] = neg(div(mul(quotient, a.unpack(*this)), divisor));
    }
  }
};

}  // namespace
}  // namespace autograd

using autograd::elementwise;
using autograd::make_node;
using autograd::needs_grad;
using autograd::record;
using autograd::result_of;
using autograd::set_history;
namespace functors = autograd::functors;

Tensor add(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_promotes(a, b)) return autograd::promoted(add, a, b);
  Tensor out =
      result_of("add", [&] { return elementwise<functors::Add>(a, b, "add"); });
  if (needs_grad(a, b)) {
    set_history(out, make_node<autograd::AddBackward>(a, b));
  }
  return out;
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_promotes(a, b)) return autograd::promoted(sub, a, b);
  Tensor out =
      result_of("sub", [&] { return elementwise<functors::Sub>(a, b, "sub"); });
  if (needs_grad(a, b)) {
    set_history(out, make_node<autograd::SubBackward>(a, b));
  }
  return out;
}

Tensor mul(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_promotes(a, b)) return autograd::promoted(mul, a, b);
  Tensor out =
      result_of("mul", [&] { return elementwise<functors::Mul>(a, b, "mul"); });
  if (needs_grad(a, b)) {
    auto node = make_node<autograd::MulBackward>(a, b);
    if (node->wants(1)) node->a.save(a);
    if (node->wants(0)) node->b.save(b);
    set_history(out, std::move(node));
  }
  return out;
}

Tensor div(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_promotes(a, b)) return autograd::promoted(div, a, b);
  Tensor out =
      result_of("div", [&] { return elementwise<functors::Div>(a, b, "div"); });
  if (needs_grad(a, b)) {
    auto node = make_node<autograd::DivBackward>(a, b);
    if (node->wants(1)) node->a.save(a);
    node->b.save(b);
    set_history(out, std::move(node));
  }
  return out;
}

// z = a + b:  da = dz
Tensor add(const Tensor& a, double b) {
  Tensor out = result_of(
      "add", [&] { return elementwise<functors::AddScalar>(a, "add", b); });
  if (needs_grad(a)) {
    record(out, "AddBackward", a, [](Tensor& dz) { return std::move(dz); });
  }
  return out;
}

// z = a b:  da = dz b
Tensor mul(const Tensor& a, double b) {
  Tensor out = result_of(
      "mul", [&] { return elementwise<functors::MulScalar>(a, "mul", b); });
  if (needs_grad(a)) {
    record(out, "MulBackward", a, [b](Tensor& dz) { return mul(dz, b); });
  }
  return out;
}

// y = -x:  dx = -dy
Tensor neg(const Tensor& x) {
  Tensor out =
      result_of("neg", [&] { return elementwise<functors::Neg>(x, "neg"); });
  if (needs_grad(x)) {
    record(out, "NegBackward", x, [](Tensor& dy) { return neg(dy); });
  }
  return out;
}

Tensor operator/(double a, const Tensor& b) {
  autograd::check_defined(b, "div");
  return div(full({}, a, {.dtype = b.dtype()}), b);
}

}  // namespace hvd
