// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shape_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// Parts of x along a dimension:  dx = the concatenated gradients of the parts,
// 0 where one is missing
struct SplitBackward : Node {
  const char* name() const override { return "SplitBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = cat(defined(grads), dim);
  }
  std::vector<Tensor> defined(std::span<Tensor> grads) const {
    std::vector<Tensor> all(grads.begin(), grads.end());
    const auto known = std::find_if(
        all.begin(), all.end(), [](const Tensor& x) { return x.defined(); });
    const Device device = known == all.end() ? Device() : known->device();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].defined()) continue;
      all[i] = zeros(inputs()[i].shape,
                     {.dtype = inputs()[i].dtype, .device = device});
    }
    return all;
  }
  std::int64_t dim = 0;
};

// The elements of a dimension:  dx = their gradients, stacked
struct UnbindBackward : SplitBackward {
  const char* name() const override { return "UnbindBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = stack(defined(grads), dim);
  }
};

// Concatenation:  each tensor gets its part of dy
struct CatBackward : Node {
  const char* name() const override { return "CatBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (wants(i)) results[i] = narrow(grads[0], dim, start, lengths[i]);
      start += lengths[i];
    }
  }
  std::int64_t dim = 0;
  std::vector<std::int64_t> lengths;
};

// A view of a part of x, marked as one of several views.
Tensor one_of_several(const Tensor& x, const Dims& shape, const Dims& strides,
                      std::int64_t offset, const Ref<Node>& node) {
  Tensor part = make_view(x, shape, strides, offset);
  if (!is_unrecorded(part.impl()->view_origin)) {
    part.impl()->view_origin = ViewOrigin::kOneOfSeveral;
  }
  if (node) set_history(part, node);
  return part;
}

// Keeps channels-last images in that layout; other tensors become row-major.
Dims strides_of_cat(const Tensor& first, const Dims& shape) {
  const bool channels_last =
      first.dim() == 4 && !first.is_contiguous() && first.strides()[1] == 1;
  return channels_last ? strides_like(shape, first.strides())
                       : contiguous_strides(shape);
}

// The tensors concatenated in dimension d, in a tensor of this shape.
Tensor joined(const std::vector<Tensor>& tensors, const Dims& shape,
              std::size_t d) {
  Tensor out = empty_strided(shape, strides_of_cat(tensors[0], shape),
                             result_type(tensors), tensors[0].device());
  std::int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    convert_into(out.alias(tensor.shape(), out.strides(), offset), tensor);
    offset += tensor.shape()[d] * out.strides()[d];
  }
  return out;
}

}  // namespace
}  // namespace autograd

using autograd::check_defined;
using autograd::checked_dim;
using autograd::Dims;
using autograd::Ref;

std::vector<Tensor> split(const Tensor& x,
                          const std::vector<std::int64_t>& lengths,
                          std::int64_t dim) {
  check_defined(x, "split");
  const std::size_t d = checked_dim(dim, x.shape().size(), "split");
  // Counts down, since a sum could overflow.
  std::int64_t left = x.shape()[d];
  for (std::int64_t length : lengths) {
    left = length < 0 || length > left ? -1 : left - length;
    if (left < 0) break;
  }
  if (left != 0) {
    throw InvalidArgument(
        absl::StrCat("split: the sizes do not add up to dimension ", d,
                     " of shape ", x.shape().to_string()));
  }
  Ref<autograd::SplitBackward> node;
  if (autograd::needs_grad(x)) {
    node = autograd::make_node<autograd::SplitBackward>(x);
    node->dim = static_cast<std::int64_t>(d);
  }
  std::vector<Tensor> parts;
  std::int64_t offset = x.storage_offset();
  Dims shape = x.shape();
  for (std::int64_t length : lengths) {
    shape[d] = length;
    parts.push_back(
        autograd::one_of_several(x, shape, x.strides(), offset, node));
    offset += length * x.strides()[d];
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size,
                          std::int64_t dim) {
  check_defined(x, "split");
  const std::int64_t whole = x.size(dim);
  if (size < 0 || (size == 0 && whole != 0)) {
    throw InvalidArgument(
        absl::StrCat("split: parts of size ", size, " never end"));
  }
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = whole; left > 0; left -= lengths.back()) {
    lengths.push_back(std::min(size, left));
  }
  if (lengths.empty()) lengths.push_back(0);
  return split(x, lengths, dim);
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks,
                          std::int64_t dim) {
  check_defined(x, "chunk");
  if (chunks <= 0) {
    throw InvalidArgument(absl::StrCat("chunk: ", chunks, " parts are none"));
  }
  const std::int64_t whole = x.size(dim);
  if (whole == 0) {
    return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(chunks)),
                 dim);
  }
  return split(x, whole / chunks + (whole % chunks != 0 ? 1 : 0), dim);
}

std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim) {
  check_defined(x, "unbind");
  const std::size_t d = checked_dim(dim, x.shape().size(), "unbind");
  Ref<autograd::UnbindBackward> node;
  if (autograd::needs_grad(x)) {
    node = autograd::make_node<autograd::UnbindBackward>(x);
    node->dim = static_cast<std::int64_t>(d);
  }
  Dims shape = x.shape();
  Dims strides = x.strides();
  shape.erase(d);
  strides.erase(d);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < x.shape()[d]; ++i) {
    parts.push_back(autograd::one_of_several(
        x, shape, strides, x.storage_offset() + i * x.strides()[d], node));
  }
  return parts;
}

Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim) {
  if (tensors.empty()) throw InvalidArgument("cat: there are no tensors");
  for (const Tensor& tensor : tensors) autograd::check_defined(tensor, "cat");
  const std::size_t d = checked_dim(dim, tensors[0].shape().size(), "cat");
  Dims shape = tensors[0].shape();
  shape[d] = 0;
  bool recorded = false;
  for (const Tensor& tensor : tensors) {
    Dims same = tensor.shape();
    if (same.size() == shape.size()) same[d] = shape[d];
    if (same != shape) {
      throw InvalidArgument(absl::StrCat(
          "cat: shapes ", tensors[0].shape().to_string(), " and ",
          tensor.shape().to_string(), " differ in more than dimension ", d));
    }
    shape[d] += tensor.shape()[d];
    recorded |= autograd::needs_grad(tensor);
  }
  Tensor out = autograd::result_of(
      "cat", [&] { return autograd::joined(tensors, shape, d); });
  if (!recorded) return out;
  auto node = autograd::make_node<autograd::CatBackward>();
  for (const Tensor& tensor : tensors) {
    node->add_edge(autograd::gradient_edge(tensor));
    node->lengths.push_back(tensor.shape()[d]);
  }
  node->dim = static_cast<std::int64_t>(d);
  autograd::set_history(out, std::move(node));
  return out;
}

Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim) {
  std::vector<Tensor> rows;
  for (const Tensor& tensor : tensors) rows.push_back(unsqueeze(tensor, dim));
  return cat(rows, dim);
}

}  // namespace hvd
