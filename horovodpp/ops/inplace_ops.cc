// SPDX-License-Identifier: Apache-2.0
// The in-place operations. Each first takes the edges of the old value, then
// writes, then sets the new history.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
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

// x *= c:  dx = dx c
struct MulScalarInplaceBackward : Node {
  const char* name() const override { return "MulBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = mul(grads[0], factor);
  }
  double factor = 1.0;
};

// x = y, or a constant:  dx = 0,  dy = dx
struct CopyBackward : Node {
  const char* name() const override { return "CopyBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = zeros_like(grads[0]);
    if (next_edges().size() > 1 && wants(1)) results[1] = grads[0];
  }
};

// x = max(x, 0):  dx = 0 where the new x <= 0, else dx
struct ReluInplaceBackward : Node {
  const char* name() const override { return "ReluBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = relu_backward(grads[0], result.unpack(*this));
  }
  void release_saved() override { result.release(); }
  SavedTensor result;
};

// x = e^x:  dx = dx times the new x
struct ExpInplaceBackward : Node {
  const char* name() const override { return "ExpBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = mul(grads[0], result.unpack(*this));
  }
  void release_saved() override { result.release(); }
  SavedTensor result;
};

// x = sin x:  dx = dx cos x, of the old x
struct SinInplaceBackward : Node {
  const char* name() const override { return "SinBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = mul(grads[0], cos(before.unpack(*this)));
  }
  void release_saved() override { before.release(); }
  SavedTensor before;
};

// `other`, checked to broadcast to `self`, and copied if it shares memory with
// `self`.
Tensor operand(const Tensor& self, const Tensor& other, const char* operation) {
  check_defined(self, operation);
  check_defined(other, operation);
  if (!broadcasts_to(other.shape(), self.shape())) {
    throw InvalidArgument(
        absl::StrCat(operation, ": shape ", other.shape().to_string(),
                     " does not broadcast to ", self.shape().to_string(),
                     ", the shape of the tensor written to"));
  }
  return shares_memory(self, other) ? clone(other) : other;
}

// The same in the dtype of `self`, which an in-place operation keeps, also
// under autocast.
Tensor arithmetic_operand(const Tensor& self, const Tensor& other,
                          const char* operation) {
  const Tensor result = operand(self, other, operation);
  if (autocast_promotes(self, result)) return to(result, self.dtype());
  check_same_dtype(self, result, operation);
  return result;
}

void run_add(const Tensor& self, const Tensor& other, double alpha) {
  const Operands operands{.out = self, .x = self, .y = &other, .c = alpha};
  if (alpha == 1.0) {
    run<functors::Add>(operands, "add_");
  } else {
    run<functors::AddScaled>(operands, "add_");
  }
}

}  // namespace
}  // namespace autograd

using autograd::check_fill;
using autograd::check_inplace;
using autograd::finish_inplace;
using autograd::make_node;
using autograd::needs_grad;
using autograd::Node;
using autograd::Ref;

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
  return add_(other, -1.0);
}

const Tensor& Tensor::add_(double value) const {
  autograd::check_defined(*this, "add_");
  const bool recorded = needs_grad(*this);
  check_inplace(*this, recorded, "add_");
  Ref<Node> node;
  if (recorded) node = make_node<autograd::AddInplaceBackward>(*this);
  autograd::run<autograd::functors::AddScalar>(
      {.out = *this, .x = *this, .c = value}, "add_");
  finish_inplace(*this, std::move(node));
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
  autograd::run<autograd::functors::Mul>(
      {.out = *this, .x = *this, .y = &other}, "mul_");
  finish_inplace(*this, std::move(node));
  return *this;
}

const Tensor& Tensor::mul_(double value) const {
  autograd::check_defined(*this, "mul_");
  const bool recorded = needs_grad(*this);
  check_inplace(*this, recorded, "mul_");
  Ref<autograd::MulScalarInplaceBackward> node;
  if (recorded) {
    node = make_node<autograd::MulScalarInplaceBackward>(*this);
    node->factor = value;
  }
  autograd::run<autograd::functors::MulScalar>(
      {.out = *this, .x = *this, .c = value}, "mul_");
  finish_inplace(*this, std::move(node));
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
  visit(dtype(), [&]<typename T>(TypeTag<T>) {
    autograd::map<T, T>(*this, *this,
                        [v = autograd::scalar_to<autograd::Loaded<T>>(value)](
                            auto) { return v; });
  });
  finish_inplace(*this, std::move(node));
  return *this;
}

const Tensor& Tensor::copy_(const Tensor& from) const {
  const Tensor source = autograd::operand(*this, from, "copy_");
  const bool recorded = needs_grad(*this, source) && is_floating_point(dtype());
  check_inplace(*this, recorded, "copy_");
  Ref<Node> node;
  if (recorded) node = make_node<autograd::CopyBackward>(*this, source);
  autograd::convert_into(
      *this, source.alias(shape(), autograd::broadcast_strides(source, shape()),
                          source.storage_offset()));
  finish_inplace(*this, std::move(node));
  return *this;
}

const Tensor& Tensor::exp_() const {
  autograd::check_defined(*this, "exp_");
  const bool recorded = needs_grad(*this);
  check_inplace(*this, recorded, "exp_");
  Ref<autograd::ExpInplaceBackward> node;
  if (recorded) node = make_node<autograd::ExpInplaceBackward>(*this);
  autograd::run<autograd::functors::Exp>({.out = *this, .x = *this}, "exp_");
  finish_inplace(*this, node);
  if (node) node->result.save_output(*this);
  return *this;
}

const Tensor& Tensor::sin_() const {
  autograd::check_defined(*this, "sin_");
  const bool recorded = needs_grad(*this);
  check_inplace(*this, recorded, "sin_");
  Ref<autograd::SinInplaceBackward> node;
  if (recorded) {
    node = make_node<autograd::SinInplaceBackward>(*this);
    node->before.save(hvd::clone(*this));
  }
  autograd::visit_any_floating(dtype(), "sin_", [&]<typename T>(TypeTag<T>) {
    autograd::map<T, T>(*this, *this, [](auto v) { return std::sin(v); });
  });
  finish_inplace(*this, std::move(node));
  return *this;
}

const Tensor& Tensor::relu_() const {
  autograd::check_defined(*this, "relu_");
  const bool recorded = needs_grad(*this);
  check_inplace(*this, recorded, "relu_");
  Ref<autograd::ReluInplaceBackward> node;
  if (recorded) node = make_node<autograd::ReluInplaceBackward>(*this);
  autograd::run<autograd::functors::Relu>({.out = *this, .x = *this}, "relu_");
  finish_inplace(*this, node);
  if (node) node->result.save(detach());
  return *this;
}

}  // namespace hvd
