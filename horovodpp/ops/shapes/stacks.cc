// SPDX-License-Identifier: Apache-2.0
// Joining tensors, and turning them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/copies.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;

namespace {

template <typename F>
Tensor joined(const std::vector<Tensor>& tensors, std::int64_t dim,
              const char* operation, F widened) {
  if (tensors.empty()) {
    throw InvalidArgument(absl::StrCat(operation, ": there are no tensors"));
  }
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) all.push_back(widened(tensor));
  return cat(all, dim);
}

void check_dims(const Tensor& x, std::int64_t least, const char* operation) {
  autograd::check_defined(x, operation);
  if (x.dim() >= least) return;
  throw InvalidArgument(absl::StrCat(operation, ": ", x.describe(),
                                     " has fewer than ", least, " dimensions"));
}

// `made`, an intermediate result without other owners, transposed; no view for
// graphs.
Tensor transposed(const Tensor& made, std::size_t a, std::size_t b) {
  Dims shape = made.shape();
  Dims strides = made.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  Tensor out = made.alias(shape, strides, made.storage_offset());
  if (autograd::needs_grad(made)) {
    autograd::record(out, "TransposeBackward", made, [a, b](Tensor& dy) {
      return transpose(dy, static_cast<std::int64_t>(a),
                       static_cast<std::int64_t>(b));
    });
  }
  return out;
}

}  // namespace

Tensor hstack(const std::vector<Tensor>& tensors) {
  const bool vectors =
      !tensors.empty() && tensors[0].defined() && tensors[0].dim() <= 1;
  return joined(tensors, vectors ? 0 : 1, "hstack", atleast_1d);
}

Tensor vstack(const std::vector<Tensor>& tensors) {
  return joined(tensors, 0, "vstack", atleast_2d);
}

Tensor dstack(const std::vector<Tensor>& tensors) {
  return joined(tensors, 2, "dstack", atleast_3d);
}

Tensor column_stack(const std::vector<Tensor>& tensors) {
  return joined(tensors, 1, "column_stack", [](const Tensor& tensor) {
    autograd::check_defined(tensor, "column_stack");
    return tensor.dim() <= 1 ? reshape(tensor, {tensor.num_elements(), 1})
                             : tensor;
  });
}

Tensor rot90(const Tensor& x, std::int64_t k, std::int64_t dim0,
             std::int64_t dim1) {
  check_dims(x, 2, "rot90");
  const std::size_t a = autograd::checked_dim(dim0, x.shape().size(), "rot90");
  const std::size_t b = autograd::checked_dim(dim1, x.shape().size(), "rot90");
  if (a == b) {
    throw InvalidArgument(
        absl::StrCat("rot90: dimension ", a, " is named twice"));
  }
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transposed(flip(x, {dim1}), a, b);
    case 2:
      return flip(x, {dim0, dim1});
    case 3:
      return transposed(flip(x, {dim0}), a, b);
    default:
      return clone(x);
  }
}

Tensor fliplr(const Tensor& x) {
  check_dims(x, 2, "fliplr");
  return flip(x, {1});
}

Tensor flipud(const Tensor& x) {
  check_dims(x, 1, "flipud");
  return flip(x, {0});
}

Tensor roll(const Tensor& x, std::int64_t shift) {
  autograd::check_defined(x, "roll");
  return autograd::resized(roll(reshape(x, {x.num_elements()}), {shift}, {0}),
                           x.shape());
}

Tensor channel_shuffle(const Tensor& x, std::int64_t groups) {
  check_dims(x, 3, "channel_shuffle");
  const std::int64_t channels = x.size(1);
  if (groups <= 0 || channels % groups != 0) {
    throw InvalidArgument(absl::StrCat("channel_shuffle: ", channels,
                                       " channels are not ", groups,
                                       " equal groups"));
  }
  Dims inner = x.shape();  // [n, c, rest]
  while (inner.size() > 3) {
    inner[2] *= inner.back();
    inner.erase(inner.size() - 1);
  }
  inner[1] = groups;
  inner.insert(2, channels / groups);
  return autograd::resized(clone(transpose(reshape(x, inner), 1, 2)),
                           x.shape());
}

}  // namespace hvd
