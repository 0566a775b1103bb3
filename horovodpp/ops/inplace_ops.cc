// SPDX-License-Identifier: Apache-2.0
// The in-place operations. Each first takes the edges of the old value, then
// writes, then sets the new history.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/memory.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// x += alpha y:  dx passes,  dy = alpha dx
struct AddInplaceBackward : Node {
  const char* name() const override { return "AddBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = grads[0];
    if (next_edges().size() > 1 && wants(1)) {
      results[1] = alpha == 1.0 ? grads[0] : mul(grads[0], alpha);
    }
  }
  double alpha = 1.0;
};

// x *= y:  dx = dx y,  dy = dx times the old x
struct MulInplaceBackward : Node {
  const char* name() const override { return "MulBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = mul(grads[0], other.unpack(*this));
    if (wants(1)) results[1] = mul(grads[0], before.unpack(*this));
  }
  void release_saved() override {
    other.release();
    before.release();
  }
  SavedTensor other;
  SavedTensor before;
};

// x = y, or a constant:  dx = 0,  dy = dx
struct CopyBackward : Node {
  const char* name() const override { return "CopyBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = zeros_like(grads[0]);
    if (next_edges().size() > 1 && wants(1)) results[1] = grads[0];
  }
};

// An in-place operation on x alone: checks, then `make_node` (if recorded), then
// `write`, then the history. Returns the node.
template <typename MakeNode, typename Write>
auto write_recorded(const Tensor& x, const char* operation, MakeNode make_node,
                    Write write) {
  check_defined(x, operation);
  const bool recorded = needs_grad(x);
  check_inplace(x, recorded, operation);
  decltype(make_node()) node;
  if (recorded) node = make_node();
  write();
  finish_inplace(x, node);
  return node;
}

// `other`, checked to broadcast to `self`, and copied if it shares memory with
// `self`. A copy may come from another device.
Tensor operand(const Tensor& self, const Tensor& other, const char* operation,
               bool is_copy = false) {
  check_defined(self, operation);
  check_defined(other, operation);
  if (!broadcasts_to(other.shape(), self.shape())) {
    throw InvalidArgument(
        absl::StrCat(operation, ": shape ", other.shape().to_string(),
                     " does not broadcast to ", self.shape().to_string(),
                     ", the shape of the tensor written to"));
  }
  if (!(self.device() == other.device())) [[unlikely]] {
    return is_copy ? other : brought_to(self, other, operation);
  }
  return shares_memory(self, other) ? clone(other) : other;
}

// The same; the result with `self` must go into the dtype of `self`.
Tensor arithmetic_operand(const Tensor& self, const Tensor& other,
                          const char* operation) {
  Tensor result = operand(self, other, operation);
  if (self.dtype() != result.dtype()) {
    check_castable(result_type(self, result), self, operation);
  }
  return result;
}

// self = F(self, other), computed in the dtype that both promote to.
template <typename F>
void run_inplace(const Tensor& self, const Tensor& other, const char* operation,
                 double c = 0.0) {
  if (self.dtype() == other.dtype()) [[likely]] {
    return run<F>({.out = self, .x = self, .y = &other, .c = c}, operation);
  }
  convert_into(self, elementwise<F>(self, other, operation, c));
}

void run_add(const Tensor& self, const Tensor& other, double alpha) {
  if (alpha == 1.0) {
    run_inplace<functors::Add>(self, other, "add_");
  } else {
    run_inplace<functors::AddScaled>(self, other, "add_", alpha);
  }
}

}  // namespace
}  // namespace autograd

using autograd::check_fill;
using autograd::check_inplace;
using autograd::finish_inplace;
using autograd::FormulaNode;
using autograd::make_formula;
using autograd::make_node;
using autograd::needs_grad;
using autograd::Node;
using autograd::Ref;
using autograd::SavingNode;
namespace functors = autograd::functors;

const Tensor& Tensor::add_(const Tensor& addend, double alpha) const {
  const Tensor other = autograd::arithmetic_operand(*this, addend, "add_");
  const bool recorded = needs_grad(*this, other);
  check_inplace(*this, recorded, "add_");
  Ref<autograd::AddInplaceBackward> node;
  if (recorded) {
    node = make_node<autograd::AddInplaceBackward>(*this, other);
    node->alpha = alpha;
  }
  autograd::run_add(*this, other, alpha);
  finish_inplace(*this, std::move(node));
  return *this;
}

const Tensor& Tensor::sub_(const Tensor& other) const {
  autograd::check_no_bool(dtype(), other.dtype(), "sub_");
  return add_(other, -1.0);
}

const Tensor& Tensor::add_(double value) const {
  autograd::write_recorded(
      *this, "add_",
      [&] { return make_node<autograd::AddInplaceBackward>(*this); },
      [&] {
        autograd::run<functors::AddScalar>(
            {.out = *this, .x = *this, .c = value}, "add_");
      });
  return *this;
}

const Tensor& Tensor::mul_(const Tensor& factor) const {
  const Tensor other = autograd::arithmetic_operand(*this, factor, "mul_");
  const bool recorded = needs_grad(*this, other);
  check_inplace(*this, recorded, "mul_");
  Ref<autograd::MulInplaceBackward> node;
  if (recorded) {
    node = make_node<autograd::MulInplaceBackward>(*this, other);
    if (node->wants(0)) node->other.save(other);
    if (node->wants(1)) node->before.save(hvd::clone(*this));
  }
  autograd::run_inplace<functors::Mul>(*this, other, "mul_");
  finish_inplace(*this, std::move(node));
  return *this;
}

// x *= c:  dx = dx c
const Tensor& Tensor::mul_(double value) const {
  autograd::write_recorded(
      *this, "mul_",
      [&] {
        return make_formula<FormulaNode>(
            "MulBackward", *this,
            [value](Tensor& dx) { return hvd::mul(dx, value); });
      },
      [&] {
        autograd::run<functors::MulScalar>(
            {.out = *this, .x = *this, .c = value}, "mul_");
      });
  return *this;
}

const Tensor& Tensor::zero_() const { return fill_(0.0); }

const Tensor& Tensor::fill_(double value) const {
  autograd::check_defined(*this, "fill_");
  autograd::check_held(value, dtype(), "fill_");
  const bool recorded = needs_grad(*this);
  check_fill(*this, recorded, "fill_");
  Ref<Node> node;
  if (recorded) node = make_node<autograd::CopyBackward>(*this);
  if (device().is_cpu()) [[likely]] {
    visit(dtype(), [&]<typename T>(TypeTag<T>) {
      autograd::map<T, T>(*this, *this,
                          [v = autograd::scalar_to<autograd::Loaded<T>>(value)](
                              auto) { return v; });
    });
  } else {
    autograd::fill_there(*this, value);
  }
  finish_inplace(*this, std::move(node));
  return *this;
}

const Tensor& Tensor::copy_(const Tensor& from) const {
  const Tensor source =
      autograd::operand(*this, from, "copy_", /*is_copy=*/true);
  const bool recorded = needs_grad(*this, source) && is_floating_point(dtype());
  check_inplace(*this, recorded, "copy_");
  Ref<Node> node;
  if (recorded) node = make_node<autograd::CopyBackward>(*this, source);
  const Tensor near = autograd::on_device(source, device());
  autograd::convert_into(
      *this, near.alias(shape(), autograd::broadcast_strides(near, shape()),
                        near.storage_offset()));
  finish_inplace(*this, std::move(node));
  return *this;
}

// x = e^x:  dx = dx times the new x
const Tensor& Tensor::exp_() const {
  const auto node = autograd::write_recorded(
      *this, "exp_",
      [&] {
        return make_formula<SavingNode>(
            "ExpBackward", *this,
            [](Tensor& dx, const Tensor& y) { return hvd::mul(dx, y); });
      },
      [&] {
        autograd::run<functors::Exp>({.out = *this, .x = *this}, "exp_");
      });
  if (node) autograd::save_written(node->saved, *node, *this);
  return *this;
}

// x = sin x:  dx = dx cos x, of the old x
const Tensor& Tensor::sin_() const {
  autograd::write_recorded(
      *this, "sin_",
      [&] {
        auto node = make_formula<SavingNode>(
            "SinBackward", *this, [](Tensor& dx, const Tensor& before) {
              return hvd::mul(dx, hvd::cos(before));
            });
        node->saved.save(hvd::clone(*this));
        return node;
      },
      [&] {
        autograd::run<functors::Sin>({.out = *this, .x = *this}, "sin_");
      });
  return *this;
}

// x = max(x, 0):  dx = 0 where the new x <= 0, else dx
const Tensor& Tensor::relu_() const {
  const auto node = autograd::write_recorded(
      *this, "relu_",
      [&] {
        return make_formula<SavingNode>("ReluBackward", *this,
                                        [](Tensor& dx, const Tensor& y) {
                                          return autograd::relu_backward(dx, y);
                                        });
      },
      [&] {
        autograd::run<functors::Relu>({.out = *this, .x = *this}, "relu_");
      });
  if (node) node->saved.save(detach());
  return *this;
}

}  // namespace hvd
