// SPDX-License-Identifier: Apache-2.0
// float32 and the 16-bit types take one vector loop; other dtypes are composed.
#include "horovodpp/ops/binary/triple_ops.h"

#include <initializer_list>
#include <span>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/functions/triple_loops.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// Three operands of one operation, not recorded.
struct ThreeOperands {
  const char* operation;
  Tensor x;
  Tensor a;
  Tensor b;  // Undefined for lerp() by a number.
  double number = 1.0;
};

Tensor in_loop(const ThreeOperands& t, TripleId id) {
  Dims shape = broadcast(t.x.shape(), t.a.shape(), t.operation);
  if (t.b.defined()) shape = broadcast(shape, t.b.shape(), t.operation);
  const Tensor out = shape == t.x.shape()
                         ? empty_like(t.x)
                         : empty(shape, {.dtype = t.x.dtype()});
  const Constants constants = {static_cast<float>(t.number)};
  if (t.b.defined()) {
    run_function(triple_loop(id), constants, out, {&t.x, &t.a, &t.b});
  } else {
    run_function(triple_loop(id), constants, out, {&t.x, &t.a});
  }
  return out;
}

// x + c (a - x), computed from the nearer end.
Tensor interpolated(const ThreeOperands& t) {
  if (in_floats(t.x.dtype())) {
    return in_loop(t, t.b.defined() ? TripleId::kLerp : TripleId::kLerpNumber);
  }
  const Tensor weight =
      t.b.defined() ? t.b : full({}, t.number, {.dtype = t.x.dtype()});
  const Tensor gap = sub(t.a, t.x);
  return where(lt(abs(weight), 0.5), add(t.x, mul(weight, gap)),
               sub(t.a, mul(gap, 1.0 - weight)));
}

Tensor scaled(const Tensor& a, double value, const char* operation) {
  if (value == 1.0) return a;
  return elementwise<functors::MulScalar>(a, operation, value);
}

Tensor product_added(const ThreeOperands& t) {
  if (in_floats(t.x.dtype())) return in_loop(t, TripleId::kAddcmul);
  return add(t.x, mul(scaled(t.a, t.number, t.operation), t.b));
}

Tensor quotient_added(const ThreeOperands& t) {
  if (in_floats(t.x.dtype())) return in_loop(t, TripleId::kAddcdiv);
  return add(t.x, div(scaled(t.a, t.number, t.operation), t.b));
}

// The operands in the dtype of the result.
ThreeOperands promoted(const char* operation, const Tensor& x, const Tensor& a,
                       const Tensor& b, double value) {
  for (const Tensor& operand : {x, a, b}) check_defined(operand, operation);
  const DType dtype = ResultType().add(x).add(a).add(b).dtype();
  if (dtype == DType::kBool) {
    throw_bad_dtype(dtype, operation, "integers and floating point");
  }
  const auto of_result = [&](const Tensor& operand) {
    return in_dtype(operand.detach(), dtype);
  };
  return {operation, of_result(x), of_result(a), of_result(b), value};
}

void check_weight(const Tensor& start, const Tensor& weight) {
  check_defined(weight, "lerp");
  if (weight.dim() > 0) check_same_dtype(start, weight, "lerp");
}

ThreeOperands ends_of(const Tensor& start, const Tensor& end) {
  check_same_dtype(start, end, "lerp");
  if (!is_floating_point(start.dtype())) {
    throw_bad_dtype(start.dtype(), "lerp", "floating point");
  }
  return {"lerp", start.detach(), end.detach(), {}, 1.0};
}

// dx = dz (1 - w),  da = dz w,  dw = dz (a - x)
struct LerpBackward final : Node {
  const char* name() const override { return "LerpBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor& dz = grads[0];
    if (wants(0) || wants(1)) {
      const Tensor w = weight.unpack(*this);
      if (wants(0)) results[0] = mul(dz, 1.0 - w);
      if (wants(1)) results[1] = mul(dz, w);
    }
    if (wants(2)) {
      results[2] = mul(dz, sub(end.unpack(*this), start.unpack(*this)));
    }
  }
  void release_saved() override {
    start.release();
    end.release();
    weight.release();
  }
  SavedTensor start;
  SavedTensor end;
  SavedTensor weight;
};

struct LerpNumberBackward final : Node {
  const char* name() const override { return "LerpBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = mul(grads[0], 1.0 - weight);
    if (wants(1)) results[1] = mul(grads[0], weight);
  }
  double weight = 0.0;
};

// z = x + c a b:  dx = dz,  da = c dz b,  db = c dz a
// z = x + c a / b:  dx = dz,  da = c dz / b,  db = -c dz a / b^2
struct AddcBackward final : Node {
  const char* name() const override {
    return divides ? "AddcdivBackward" : "AddcmulBackward";
  }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor& dz = grads[0];
    if (wants(0)) results[0] = dz;
    if (!wants(1) && !wants(2)) return;
    const Tensor scaled_dz = value == 1.0 ? dz : mul(dz, value);
    const Tensor second = needs_b() ? b.unpack(*this) : Tensor();
    if (wants(1)) {
      results[1] = divides ? div(scaled_dz, second) : mul(scaled_dz, second);
    }
    if (!wants(2)) return;
    const Tensor by_a = mul(scaled_dz, a.unpack(*this));
    results[2] = divides ? neg(div(by_a, mul(second, second))) : by_a;
  }
  void release_saved() override {
    a.release();
    b.release();
  }
  bool needs_b() const { return wants(1) || (divides && wants(2)); }
  SavedTensor a;
  SavedTensor b;
  double value = 1.0;
  bool divides = false;
};

// `out` = x + value a b, or x + value a / b, recorded.
Tensor recorded_sum(const Tensor& out, const ThreeOperands& t, const Tensor& x,
                    const Tensor& a, const Tensor& b, bool divides) {
  if (!needs_grad(x, a, b)) return out;
  auto node = make_node<AddcBackward>(x, a, b);
  node->divides = divides;
  node->value = t.number;
  if (node->wants(2)) node->a.save(a);
  if (node->needs_b()) node->b.save(b);
  set_history(out, node);
  return out;
}

}  // namespace
}  // namespace autograd

using autograd::assign_function;
using autograd::make_node;
using autograd::needs_grad;
using autograd::result_of;
using autograd::ThreeOperands;

Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) {
  ThreeOperands t = autograd::ends_of(start, end);
  autograd::check_weight(start, weight);
  t.b = autograd::in_dtype(weight.detach(), start.dtype());
  const Tensor out = result_of("lerp", [&] {
    NoGrad no_grad;
    return autograd::interpolated(t);
  });
  if (needs_grad(start, end, weight)) {
    auto node = make_node<autograd::LerpBackward>(start, end, weight);
    if (node->wants(0) || node->wants(1)) node->weight.save(weight);
    if (node->wants(2)) {
      node->start.save(start);
      node->end.save(end);
    }
    autograd::set_history(out, node);
  }
  return out;
}

Tensor lerp(const Tensor& start, const Tensor& end, double weight) {
  ThreeOperands t = autograd::ends_of(start, end);
  t.number = weight;
  const Tensor out = result_of("lerp", [&] {
    NoGrad no_grad;
    return autograd::interpolated(t);
  });
  if (needs_grad(start, end)) {
    auto node = make_node<autograd::LerpNumberBackward>(start, end);
    node->weight = weight;
    autograd::set_history(out, node);
  }
  return out;
}

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b,
               double value) {
  const ThreeOperands t = autograd::promoted("addcmul", x, a, b, value);
  const Tensor out = result_of("addcmul", [&] {
    NoGrad no_grad;
    return autograd::product_added(t);
  });
  return autograd::recorded_sum(out, t, x, a, b, false);
}

Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b,
               double value) {
  const ThreeOperands t = autograd::promoted("addcdiv", x, a, b, value);
  if (!is_floating_point(a.dtype()) && !is_floating_point(b.dtype())) {
    throw InvalidArgument(absl::StrCat("addcdiv: ", a.describe(), " and ",
                                       b.describe(),
                                       " are integers; convert one with to()"));
  }
  const Tensor out = result_of("addcdiv", [&] {
    NoGrad no_grad;
    return autograd::quotient_added(t);
  });
  return autograd::recorded_sum(out, t, x, a, b, true);
}

const Tensor& lerp_(const Tensor& start, const Tensor& end,
                    const Tensor& weight) {
  return assign_function(
      start, needs_grad(start, end, weight), "lerp_",
      [&](const Tensor& before) { return lerp(before, end, weight); });
}
const Tensor& lerp_(const Tensor& start, const Tensor& end, double weight) {
  return assign_function(
      start, needs_grad(start, end), "lerp_",
      [&](const Tensor& before) { return lerp(before, end, weight); });
}
const Tensor& addcmul_(const Tensor& x, const Tensor& a, const Tensor& b,
                       double value) {
  return assign_function(
      x, needs_grad(x, a, b), "addcmul_",
      [&](const Tensor& before) { return addcmul(before, a, b, value); });
}
const Tensor& addcdiv_(const Tensor& x, const Tensor& a, const Tensor& b,
                       double value) {
  return assign_function(
      x, needs_grad(x, a, b), "addcdiv_",
      [&](const Tensor& before) { return addcdiv(before, a, b, value); });
}

}  // namespace hvd
