// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shapes/views.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/base/named_dims.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::check_defined;
using autograd::checked_dim;
using autograd::Dims;

namespace {

void check_not_empty(const std::vector<Tensor>& tensors,
                     const char* operation) {
  if (tensors.empty()) {
    throw InvalidArgument(absl::StrCat(operation, ": there are no tensors"));
  }
  for (const Tensor& tensor : tensors) check_defined(tensor, operation);
}

// `sizes` with its -1, if any, inferred, so that the product is `whole`.
Dims sizes_of(std::int64_t whole, Dims sizes) {
  std::int64_t known = 1;
  int unknown = 0;
  bool valid = !sizes.empty();
  for (std::int64_t size : sizes) {
    if (size == -1) {
      ++unknown;
    } else {
      valid =
          valid && size >= 0 && !__builtin_mul_overflow(known, size, &known);
    }
  }
  if (valid && unknown == 1 && known != 0 && whole % known == 0) {
    std::replace(&sizes[0], &sizes[0] + sizes.size(), std::int64_t{-1},
                 whole / known);
    known = whole;
    unknown = 0;
  }
  if (valid && unknown == 0 && known == whole) return sizes;
  throw InvalidArgument(absl::StrCat("unflatten: sizes ", sizes.to_string(),
                                     " do not multiply to ", whole,
                                     ", the size of the dimension"));
}

}  // namespace

Tensor flatten(const Tensor& x, std::int64_t start, std::int64_t end) {
  check_defined(x, "flatten");
  const std::size_t rank = std::max<std::size_t>(x.shape().size(), 1);
  const std::size_t first = checked_dim(start, rank, "flatten");
  const std::size_t last = checked_dim(end, rank, "flatten");
  if (x.dim() == 0) return reshape(x, {1});
  if (first > last) {
    throw InvalidArgument(absl::StrCat("flatten: dimension ", first,
                                       " is behind dimension ", last));
  }
  if (first == last) return autograd::unchanged(x);
  Dims shape;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d > first && d <= last) {
      shape[first] *= x.shape()[d];
    } else {
      shape.push_back(x.shape()[d]);
    }
  }
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, std::int64_t dim, const Dims& sizes) {
  check_defined(x, "unflatten");
  const std::size_t d = checked_dim(dim, x.shape().size(), "unflatten");
  Dims shape = x.shape();
  shape.erase(d);
  const Dims parts = sizes_of(x.shape()[d], sizes);
  for (std::size_t i = 0; i < parts.size(); ++i) shape.insert(d + i, parts[i]);
  return view(x, shape);
}

Tensor movedim(const Tensor& x, const Dims& from, const Dims& to) {
  check_defined(x, "movedim");
  const std::size_t rank = x.shape().size();
  if (from.size() != to.size()) {
    throw InvalidArgument(absl::StrCat(
        "movedim: ", from.size(), " dimensions for ", to.size(), " places"));
  }
  const auto moved = autograd::named_dims(from, rank, "movedim");
  autograd::named_dims(to, rank, "movedim");
  if (rank == 0) return permute(x, {});
  Dims order = Dims::filled(rank, -1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    order[checked_dim(to[i], rank, "movedim")] =
        static_cast<std::int64_t>(checked_dim(from[i], rank, "movedim"));
  }
  std::size_t place = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (moved[d]) continue;
    while (order[place] != -1) ++place;
    order[place] = static_cast<std::int64_t>(d);
  }
  return permute(x, order);
}

Tensor swapaxes(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  return transpose(x, dim0, dim1);
}

Tensor broadcast_to(const Tensor& x, const Dims& shape) {
  check_defined(x, "broadcast_to");
  // A view in any case.
  return x.shape() == shape ? view(x, shape) : expand(x, shape);
}

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
  check_not_empty(tensors, "broadcast_tensors");
  Dims shape;
  for (const Tensor& tensor : tensors) {
    shape = autograd::broadcast(shape, tensor.shape(), "broadcast_tensors");
  }
  std::vector<Tensor> results;
  for (const Tensor& tensor : tensors) results.push_back(expand(tensor, shape));
  return results;
}

Tensor atleast_1d(const Tensor& x) {
  check_defined(x, "atleast_1d");
  return x.dim() == 0 ? reshape(x, {1}) : autograd::unchanged(x);
}

Tensor atleast_2d(const Tensor& x) {
  check_defined(x, "atleast_2d");
  if (x.dim() == 0) return reshape(x, {1, 1});
  return x.dim() == 1 ? unsqueeze(x, 0) : autograd::unchanged(x);
}

Tensor atleast_3d(const Tensor& x) {
  check_defined(x, "atleast_3d");
  if (x.dim() == 0) return reshape(x, {1, 1, 1});
  if (x.dim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.dim() == 2 ? unsqueeze(x, -1) : autograd::unchanged(x);
}

std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t sections,
                                 std::int64_t dim) {
  check_defined(x, "tensor_split");
  const std::size_t d = checked_dim(dim, x.shape().size(), "tensor_split");
  if (sections <= 0) {
    throw InvalidArgument(
        absl::StrCat("tensor_split: ", sections, " parts are none"));
  }
  const std::int64_t size = x.shape()[d];
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < sections; ++i) {
    const std::int64_t length = size / sections + (i < size % sections ? 1 : 0);
    parts.push_back(narrow(x, dim, start, length));
    start += length;
  }
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor& x,
                                 const std::vector<std::int64_t>& indices,
                                 std::int64_t dim) {
  check_defined(x, "tensor_split");
  const std::size_t d = checked_dim(dim, x.shape().size(), "tensor_split");
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t end : indices) {
    parts.push_back(slice(x, dim, start, end));
    start = end;
  }
  parts.push_back(slice(x, dim, start, x.shape()[d]));
  return parts;
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors,
                             GridOrder order) {
  check_not_empty(tensors, "meshgrid");
  Dims shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 1) {
      throw InvalidArgument(absl::StrCat("meshgrid: ", tensor.describe(),
                                         " is no vector or scalar"));
    }
    autograd::check_same_dtype(tensors[0], tensor, "meshgrid");
    shape.push_back(tensor.num_elements());
  }
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Dims own = Dims::filled(shape.size(), 1);
    own[i] = shape[i];
    Tensor grid = expand(reshape(tensors[i], own), shape);
    const bool swapped = order == GridOrder::kCartesian && tensors.size() > 1;
    grids.push_back(swapped ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

}  // namespace hvd
