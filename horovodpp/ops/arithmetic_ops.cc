// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/elementwise_ops.h"

#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

// F of x and a number.
template <typename F>
Tensor with_number(const Tensor& x, Scalar c, OperationName operation) {
  const DType dtype = result_type(x, c);
  return result_of(operation, [&] {
    if (dtype == x.dtype()) [[likely]]
      return elementwise<F>(x, operation.text(), c.value());
    return elementwise<F>(in_dtype(x, dtype), operation.text(), c.value());
  });
}

// Gradients have the shape and dtype of the result; the engine sums them down
// to the inputs' shapes, and converts them to the inputs' dtypes.

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
  Tensor out =
      result_of("add", [&] { return elementwise<functors::Add>(a, b, "add"); });
  if (needs_grad(a, b)) {
    set_history(out, make_node<autograd::AddBackward>(a, b));
  }
  return out;
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (a.defined() && b.defined()) {
    autograd::check_no_bool(a.dtype(), b.dtype(), "sub");
  }
  Tensor out =
      result_of("sub", [&] { return elementwise<functors::Sub>(a, b, "sub"); });
  if (needs_grad(a, b)) {
    set_history(out, make_node<autograd::SubBackward>(a, b));
  }
  return out;
}

Tensor mul(const Tensor& a, const Tensor& b) {
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
Tensor add(const Tensor& a, Scalar b) {
  Tensor out = autograd::with_number<functors::AddScalar>(a, b, "add");
  if (needs_grad(a)) {
    record(out, "AddBackward", a, [](Tensor& dz) { return std::move(dz); });
  }
  return out;
}

Tensor sub(const Tensor& a, Scalar b) {
  autograd::check_defined(a, "sub");
  autograd::check_no_bool(a.dtype(), b.dtype(), "sub");
  return add(a, -b);
}

// z = a b:  da = dz b
Tensor mul(const Tensor& a, Scalar b) {
  Tensor out = autograd::with_number<functors::MulScalar>(a, b, "mul");
  if (needs_grad(a)) {
    record(out, "MulBackward", a, [b](Tensor& dz) { return mul(dz, b); });
  }
  return out;
}

Tensor div(const Tensor& a, Scalar b) {
  autograd::check_defined(a, "div");
  if (is_floating_point(a.dtype())) return mul(a, 1.0 / b.value());
  return div(a, full({}, b.value()));
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

Tensor operator-(Scalar a, const Tensor& b) {
  autograd::check_defined(b, "sub");
  autograd::check_no_bool(a.dtype(), b.dtype(), "sub");
  return add(neg(to(b, result_type(b, a))), a);
}

Tensor operator/(Scalar a, const Tensor& b) {
  autograd::check_defined(b, "div");
  return div(full({}, a.value(),
                  {.dtype = autograd::floating_result(result_type(b, a))}),
             b);
}

}  // namespace hvd
