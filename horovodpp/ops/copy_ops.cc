// SPDX-License-Identifier: Apache-2.0
// Copies: to other memory, other orders of dimensions, other dtypes.
#include "horovodpp/ops/copy_ops.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// y = x in another dtype:  dx = dy in x's dtype
struct ToBackward : Node {
  const char* name() const override { return "ToBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = to(grads[0], dtype);
  }
  DType dtype = DType::kF32;
};

// y = x:  dx = dy
struct CloneBackward : Node {
  const char* name() const override { return "CloneBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = std::move(grads[0]);
  }
};

}  // namespace

Tensor clone_with_strides(const Tensor& x, const Dims& strides) {
  if (strides.size() != x.shape().size() || !is_dense(x.shape(), strides)) {
    throw InvalidArgument(
        absl::StrCat("clone_with_strides: ", strides.to_string(),
                     " are no dense strides of ", x.shape().to_string()));
  }
  Tensor out = result_of("clone", [&] {
    const Tensor copy = empty_strided(x.shape(), strides, x.dtype());
    convert_into(copy, x);
    return copy;
  });
  if (needs_grad(x)) set_history(out, make_node<CloneBackward>(x));
  return out;
}

}  // namespace autograd

using autograd::make_node;
using autograd::needs_grad;
using autograd::set_history;

Tensor to(const Tensor& x, DType dtype) {
  autograd::check_defined(x, "to");
  if (x.dtype() == dtype) return x;
  Tensor out = autograd::result_of("to", [&] {
    const Tensor converted = autograd::empty_strided(
        x.shape(), autograd::strides_like(x.shape(), x.strides()), dtype);
    autograd::convert_into(converted, x);
    return converted;
  });
  if (needs_grad(x) && is_floating_point(dtype)) {
    auto node = make_node<autograd::ToBackward>(x);
    node->dtype = x.dtype();
    set_history(out, std::move(node));
  }
  return out;
}

Tensor clone(const Tensor& x) {
  autograd::check_defined(x, "clone");
  return autograd::clone_with_strides(x,
                                      autograd::contiguous_strides(x.shape()));
}

}  // namespace hvd
