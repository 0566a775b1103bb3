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

// z = a + c:  da = dz
struct AddScalarBackward : Node {
  const char* name() const override { return "AddBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = std::move(grads[0]);
  }
};

// z = a c:  da = dz c
struct MulScalarBackward : Node {
  const char* name() const override { return "MulBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = mul(grads[0], factor);
  }
  double factor = 1.0;
};

// y = -x:  dx = -dy
struct NegBackward : Node {
  const char* name() const override { return "NegBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = neg(grads[0]);
  }
};

}  // namespace
}  // namespace autograd

using autograd::make_node;
using autograd::needs_grad;
using autograd::set_history;

Tensor add(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_promotes(a, b)) return autograd::promoted(add, a, b);
  Tensor out = autograd::result_of("add", [&] {
    return autograd::elementwise<autograd::functors::Add>(a, b, "add");
  });
  if (needs_grad(a, b)) {
    set_history(out, make_node<autograd::AddBackward>(a, b));
  }
  return out;
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_promotes(a, b)) return autograd::promoted(sub, a, b);
  Tensor out = autograd::result_of("sub", [&] {
    return autograd::elementwise<autograd::functors::Sub>(a, b, "sub");
  });
  if (needs_grad(a, b)) {
    set_history(out, make_node<autograd::SubBackward>(a, b));
  }
  return out;
}

Tensor mul(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_promotes(a, b)) return autograd::promoted(mul, a, b);
  Tensor out = autograd::result_of("mul", [&] {
    return autograd::elementwise<autograd::functors::Mul>(a, b, "mul");
  });
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
  Tensor out = autograd::result_of("div", [&] {
    return autograd::elementwise<autograd::functors::Div>(a, b, "div");
  });
  if (needs_grad(a, b)) {
    auto node = make_node<autograd::DivBackward>(a, b);
    if (node->wants(1)) node->a.save(a);
    node->b.save(b);
    set_history(out, std::move(node));
  }
  return out;
}

Tensor add(const Tensor& a, double b) {
  Tensor out = autograd::result_of("add", [&] {
    return autograd::elementwise<autograd::functors::AddScalar>(a, "add", b);
  });
  if (needs_grad(a)) {
    set_history(out, make_node<autograd::AddScalarBackward>(a));
  }
  return out;
}

Tensor mul(const Tensor& a, double b) {
  Tensor out = autograd::result_of("mul", [&] {
    return autograd::elementwise<autograd::functors::MulScalar>(a, "mul", b);
  });
  if (needs_grad(a)) {
    auto node = make_node<autograd::MulScalarBackward>(a);
    node->factor = b;
    set_history(out, std::move(node));
  }
  return out;
}

Tensor neg(const Tensor& x) {
  Tensor out = autograd::result_of("neg", [&] {
    return autograd::elementwise<autograd::functors::Neg>(x, "neg");
  });
  if (needs_grad(x)) set_history(out, make_node<autograd::NegBackward>(x));
  return out;
}

Tensor operator/(double a, const Tensor& b) {
  autograd::check_defined(b, "div");
  return div(full({}, a, {.dtype = b.dtype()}), b);
}

}  // namespace hvd
