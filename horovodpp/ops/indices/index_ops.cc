// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/index_ops.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/picks.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// The number of dimensions that an index consumes.
std::int64_t taken_by(const Index& index) {
  if (std::holds_alternative<Ellipsis>(index.value()) ||
      std::holds_alternative<NewAxis>(index.value())) {
    return 0;
  }
  const Tensor* tensor = std::get_if<Tensor>(&index.value());
  if (tensor == nullptr) return 1;
  check_defined(*tensor, "index");
  return tensor->dtype() == DType::kBool ? tensor->dim() : 1;
}

void add_picks(const Tensor& tensor, const Tensor& x, Picks& picks) {
  // uint8 may be a mask of an older PyTorch.
  if (category_of(tensor.dtype()) == DTypeCategory::kInteger &&
      tensor.dtype() != DType::kU8) {
    picks.push_back(tensor);
    return;
  }
  if (tensor.dtype() != DType::kBool || tensor.dim() == 0) {
    throw InvalidArgument(absl::StrCat(
        "index: a ", tensor.describe(),
        " picks nothing; wanted are indices of a signed integer dtype or a "
        "bool mask: convert it with to()"));
  }
  for (std::size_t d = 0; d < tensor.shape().size(); ++d) {
    const std::size_t dim = picks.size() + d;
    if (tensor.shape()[d] != x.shape()[dim]) {
      throw InvalidArgument(absl::StrCat("index: a mask of shape ",
                                         tensor.shape().to_string(),
                                         " does not cover dimension ", dim,
                                         " of shape ", x.shape().to_string()));
    }
  }
  const Tensor places = nonzero(tensor);
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    picks.push_back(clone(places.select(1, d)));
  }
}

// The value of an index that is a number or an integer scalar.
std::optional<std::int64_t> number_of(const Index& index) {
  if (const auto* number = std::get_if<std::int64_t>(&index.value())) {
    return *number;
  }
  const Tensor* tensor = std::get_if<Tensor>(&index.value());
  if (tensor == nullptr || tensor->dim() != 0) return std::nullopt;
  switch (tensor->dtype()) {
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return to(tensor->detach(), DType::kI64).item<std::int64_t>();
    default:
      return std::nullopt;
  }
}

// The view from the numbers, slices and axes of `indices`, and the picks from
// its dimensions.
struct Indexed {
  Tensor view;
  Picks picks;
  bool picks_any = false;
};

Indexed resolve(const Tensor& x, const std::vector<Index>& indices) {
  check_defined(x, "index");
  std::int64_t taken = 0;
  bool elided = false;
  for (const Index& index : indices) {
    taken += taken_by(index);
    if (!std::holds_alternative<Ellipsis>(index.value())) continue;
    if (elided) throw InvalidArgument("index: there is more than one ellipsis");
    elided = true;
  }
  if (taken > x.dim()) {
    throw InvalidArgument(absl::StrCat("index: ", taken, " indices for shape ",
                                       x.shape().to_string()));
  }
  Indexed result{.view = x, .picks = {}};
  Tensor& view = result.view;
  Picks& picks = result.picks;
  for (const Index& index : indices) {
    const auto dim = static_cast<std::int64_t>(picks.size());
    if (const auto number = number_of(index)) {
      view = select(view, dim, *number);
    } else if (const auto* part = std::get_if<Slice>(&index.value())) {
      view = slice(view, dim, part->start, part->end, part->step);
      picks.emplace_back();
    } else if (std::holds_alternative<NewAxis>(index.value())) {
      view = unsqueeze(view, dim);
      picks.emplace_back();
    } else if (const auto* tensor = std::get_if<Tensor>(&index.value())) {
      add_picks(*tensor, view, picks);
      result.picks_any = true;
    } else {
      picks.resize(picks.size() + static_cast<std::size_t>(x.dim() - taken));
      taken = x.dim();
    }
  }
  picks.resize(view.shape().size());
  return result;
}

// x[0] = [5] means x[0] = 5.
Tensor without_leading_ones(Tensor value, std::int64_t dims) {
  while (value.dim() > dims && value.size(0) == 1) value = squeeze(value, 0);
  return value;
}

}  // namespace
}  // namespace autograd

Tensor Tensor::index(const std::vector<autograd::Index>& indices) const {
  const auto [view, picks, any] = autograd::resolve(*this, indices);
  if (any) return autograd::pick(view, picks);
  return view.is_same(*this) ? autograd::unchanged(view) : view;
}

const Tensor& index_put_(const Tensor& x,
                         const std::vector<autograd::Index>& indices,
                         const Tensor& value, bool accumulate) {
  autograd::check_defined(value, "index_put_");
  const auto [view, picks, any] = autograd::resolve(x, indices);
  if (any) {
    autograd::put(view, picks, autograd::without_leading_ones(value, 0),
                  {.operation = "index_put_", .accumulate = accumulate});
    return x;
  }
  const Tensor part = autograd::without_leading_ones(value, view.dim());
  accumulate ? view.add_(part) : view.copy_(part);
  return x;
}

Tensor index_put(const Tensor& x, const std::vector<autograd::Index>& indices,
                 const Tensor& value, bool accumulate) {
  autograd::check_defined(value, "index_put");
  const auto [view, picks, any] = autograd::resolve(x, indices);
  if (any && view.is_same(x)) {
    return autograd::put(x, picks, autograd::without_leading_ones(value, 0),
                         {"index_put", autograd::Place::kCopy, accumulate});
  }
  const Tensor copy = clone(x);
  index_put_(copy, indices, value, accumulate);
  return copy;
}

const Tensor& Tensor::index_put_(const std::vector<autograd::Index>& indices,
                                 const Tensor& value) const {
  return hvd::index_put_(*this, indices, value);
}

const Tensor& Tensor::index_put_(const std::vector<autograd::Index>& indices,
                                 double value) const {
  autograd::check_defined(*this, "index_put_");
  autograd::check_held(value, dtype(), "index_put_");
  return index_put_(indices, full({}, value, {.dtype = dtype()}));
}

Tensor nonzero(const Tensor& x) {
  autograd::check_defined(x, "nonzero");
  const Tensor flags = clone(ne(x.detach(), 0.0));
  const bool* flag = flags.data<bool>();
  const auto rank = x.shape().size();
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < flags.num_elements(); ++i) {
    if (!flag[i]) continue;
    std::int64_t left = i;
    for (std::size_t d = 0; d < rank; ++d) {
      places.push_back(left / flags.strides()[d]);
      left %= flags.strides()[d];
    }
  }
  const bool found = rank == 0 && flag[0];
  const std::size_t count = rank == 0 ? (found ? 1 : 0) : places.size() / rank;
  return from_vector<std::int64_t>(places, {static_cast<std::int64_t>(count),
                                            static_cast<std::int64_t>(rank)});
}

}  // namespace hvd
