// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/selections.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/binary/binary_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;

namespace {

using Places = std::vector<std::int64_t>;

// Moves to the next combination of numbers below n; false after the last.
bool advance(Places& places, std::int64_t n, bool repeated) {
  const auto count = static_cast<std::int64_t>(places.size());
  std::int64_t i = count - 1;
  const auto last = [&](std::int64_t at) {
    return repeated ? n - 1 : n - count + at;
  };
  while (i >= 0 && places[static_cast<std::size_t>(i)] == last(i)) --i;
  if (i < 0) return false;
  std::int64_t next = ++places[static_cast<std::size_t>(i)];
  while (++i < count) {
    places[static_cast<std::size_t>(i)] = repeated ? next : ++next;
  }
  return true;
}

}  // namespace

Tensor combinations(const Tensor& x, std::int64_t count, bool repeated) {
  autograd::check_defined(x, "combinations");
  if (x.dim() != 1 || count < 1) {
    throw InvalidArgument(absl::StrCat("combinations: of ", x.describe(), ", ",
                                       count, " at a time; wanted are a vector",
                                       " and a positive number"));
  }
  const std::int64_t n = x.size(0);
  Places all;
  if (repeated ? n > 0 : n >= count) {
    Places places(static_cast<std::size_t>(count));
    for (std::size_t i = 0; !repeated && i < places.size(); ++i) {
      places[i] = static_cast<std::int64_t>(i);
    }
    do {
      all.insert(all.end(), places.begin(), places.end());
    } while (advance(places, n, repeated));
  }
  const auto total = static_cast<std::int64_t>(all.size());
  return reshape(index_select(x, 0, from_vector(all, {total})),
                 {total / count, count});
}

Tensor argwhere(const Tensor& x) { return nonzero(x); }

std::vector<Tensor> unravel_index(const Tensor& places, const Dims& shape) {
  autograd::check_defined(places, "unravel_index");
  if (is_floating_point(places.dtype()) || places.dtype() == DType::kBool ||
      shape.product() == 0) {
    throw InvalidArgument(absl::StrCat("unravel_index: ", places.describe(),
                                       " are no places in the shape ",
                                       shape.to_string()));
  }
  std::vector<Tensor> found(shape.size());
  Tensor rest = to(places, DType::kI64);
  for (std::size_t d = shape.size(); d-- > 0;) {
    const Tensor size = from_vector<std::int64_t>({shape[d]}, {});
    found[d] = remainder(rest, size);
    rest = floor_divide(rest, size);
  }
  return found;
}

Dims broadcast_shapes(const std::vector<Dims>& shapes) {
  Dims result;
  for (const Dims& shape : shapes) {
    result = autograd::broadcast(result, shape, "broadcast_shapes");
  }
  return result;
}

Tensor matrix_transpose(const Tensor& x) { return transpose(x, -2, -1); }

}  // namespace hvd
