// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/parts.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/copies.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

std::vector<Tensor> equal_parts(const Tensor& x, std::int64_t sections,
                                std::int64_t dim, const char* operation) {
  autograd::check_defined(x, operation);
  if (x.dim() <= dim) {
    throw InvalidArgument(
        absl::StrCat(operation, ": ", x.describe(), " has no dimension ", dim));
  }
  if (sections <= 0 || x.size(dim) % sections != 0) {
    throw InvalidArgument(absl::StrCat(
        operation, ": dimension ", dim, " of ", x.describe(),
        " does not split into ", sections, " equal parts; see tensor_split()"));
  }
  return tensor_split(x, sections, dim);
}

Tensor as_matrix(const Tensor& x) {
  autograd::check_defined(x, "block_diag");
  if (x.dim() <= 2) return atleast_2d(x);
  throw InvalidArgument(absl::StrCat("block_diag: ", x.describe(),
                                     " has more than two dimensions"));
}

// A copy of `x` with `source` where `view_of` its argument looks.
template <typename View>
Tensor with_part(const Tensor& x, const Tensor& source, const char* operation,
                 View view_of) {
  autograd::check_defined(x, operation);
  autograd::check_defined(source, operation);
  // No clone(), whose result a checkpoint may keep and must not see changed.
  Tensor result = empty_like(x);
  result.copy_(x);
  Tensor part = view_of(result);
  if (part.shape() != source.shape()) {
    throw InvalidArgument(absl::StrCat(operation, ": ", source.describe(),
                                       " does not have the shape of the part, ",
                                       part.describe()));
  }
  part.copy_(source);
  return result;
}

}  // namespace

Tensor ravel(const Tensor& x) {
  autograd::check_defined(x, "ravel");
  return reshape(x, {x.num_elements()});
}

std::vector<Tensor> hsplit(const Tensor& x, std::int64_t sections) {
  autograd::check_defined(x, "hsplit");
  return equal_parts(x, sections, x.dim() < 2 ? 0 : 1, "hsplit");
}

std::vector<Tensor> vsplit(const Tensor& x, std::int64_t sections) {
  autograd::check_defined(x, "vsplit");
  if (x.dim() < 2) {
    throw InvalidArgument(
        absl::StrCat("vsplit: ", x.describe(), " has less than 2 dimensions"));
  }
  return equal_parts(x, sections, 0, "vsplit");
}

std::vector<Tensor> dsplit(const Tensor& x, std::int64_t sections) {
  return equal_parts(x, sections, 2, "dsplit");
}

Tensor diagflat(const Tensor& x, std::int64_t offset) {
  return diag_embed(ravel(x), offset);
}

Tensor block_diag(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) {
    throw InvalidArgument("block_diag: there are no tensors");
  }
  std::vector<Tensor> blocks;
  std::int64_t columns = 0;
  for (const Tensor& tensor : tensors) {
    blocks.push_back(as_matrix(tensor));
    columns += blocks.back().size(1);
  }
  std::int64_t left = 0;
  for (Tensor& block : blocks) {
    const std::int64_t width = block.size(1);
    block = pad(block, {left, columns - left - width});
    left += width;
  }
  return cat(blocks, 0);
}

Tensor cartesian_prod(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    autograd::check_defined(tensor, "cartesian_prod");
    if (tensor.dim() == 1) continue;
    throw InvalidArgument(absl::StrCat("cartesian_prod: ", tensor.describe(),
                                       " is not a vector"));
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors)) columns.push_back(ravel(grid));
  return stack(columns, 1);
}

Tensor select_scatter(const Tensor& x, const Tensor& source, std::int64_t dim,
                      std::int64_t index) {
  return with_part(x, source, "select_scatter",
                   [&](const Tensor& y) { return select(y, dim, index); });
}

Tensor slice_scatter(const Tensor& x, const Tensor& source, std::int64_t dim,
                     std::int64_t start, std::int64_t end, std::int64_t step) {
  return with_part(x, source, "slice_scatter", [&](const Tensor& y) {
    return slice(y, dim, start, end, step);
  });
}

Tensor diagonal_scatter(const Tensor& x, const Tensor& source,
                        std::int64_t offset, std::int64_t dim1,
                        std::int64_t dim2) {
  return with_part(x, source, "diagonal_scatter", [&](const Tensor& y) {
    return diagonal(y, offset, dim1, dim2);
  });
}

}  // namespace hvd
