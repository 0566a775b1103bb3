// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/copies.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::as_int64;
using autograd::check_defined;
using autograd::Dims;

namespace {

void check_repeats(const Tensor& x, const Dims& repeats) {
  const bool valid = repeats.size() >= x.shape().size() &&
                     std::all_of(repeats.begin(), repeats.end(),
                                 [](std::int64_t n) { return n >= 0; });
  if (valid) return;
  throw InvalidArgument(
      absl::StrCat("repeat: ", repeats.to_string(), " does not repeat shape ",
                   x.shape().to_string(),
                   "; wanted is a number of at least 0 for each dimension"));
}

// The number of dimensions that repeat() needs for all repeats at once.
std::size_t dims_at_once(const Dims& shape, const Dims& repeats) {
  std::size_t count = repeats.size();
  const std::size_t added = repeats.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && repeats[added + d] != 1) ++count;
  }
  return count;
}

// A new tensor of x expanded to `wide` after reshaping to `spread`, in `shape`.
Tensor spread_copy(const Tensor& x, const Dims& spread, const Dims& wide,
                   const Dims& shape) {
  return autograd::resized(clone(expand(reshape(x, spread), wide)), shape);
}

Tensor flat(const Tensor& x) { return reshape(x, {x.num_elements()}); }

}  // namespace

Tensor repeat(const Tensor& x, const Dims& repeats) {
  check_defined(x, "repeat");
  check_repeats(x, repeats);
  const std::size_t added = repeats.size() - x.shape().size();
  if (dims_at_once(x.shape(), repeats) > Dims::kMax) {
    Dims others = repeats;
    Dims last = Dims::filled(repeats.size(), 1);
    std::size_t d = repeats.size() - 1;
    while (repeats[d] == 1 || x.shape()[d - added] == 1) --d;
    std::swap(others[d], last[d]);
    return repeat(repeat(x, last), others);
  }
  Dims spread, wide, shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t size = i < added ? 1 : x.shape()[i - added];
    std::int64_t total = 0;
    if (__builtin_mul_overflow(size, repeats[i], &total)) {
      autograd::throw_bad_shape(repeats, size_of(x.dtype()));
    }
    shape.push_back(total);
    if (size != 1 && repeats[i] != 1) {
      spread.push_back(1);
      wide.push_back(repeats[i]);
    }
    spread.push_back(size);
    wide.push_back(size == 1 ? repeats[i] : size);
  }
  return spread_copy(x, spread, wide, shape);
}

Tensor tile(const Tensor& x, const Dims& repeats) {
  check_defined(x, "tile");
  Dims all = repeats;
  while (all.size() < x.shape().size()) all.insert(0, 1);
  return repeat(x, all);
}

Tensor repeat_interleave(const Tensor& x, std::int64_t repeats,
                         std::optional<std::int64_t> dim) {
  check_defined(x, "repeat_interleave");
  if (!dim) return repeat_interleave(flat(x), repeats, 0);
  if (x.dim() == 0) return repeat_interleave(flat(x), repeats, dim);
  const std::size_t d =
      autograd::checked_dim(*dim, x.shape().size(), "repeat_interleave");
  Dims shape = x.shape();
  if (repeats < 0 || __builtin_mul_overflow(shape[d], repeats, &shape[d])) {
    throw InvalidArgument(absl::StrCat(
        "repeat_interleave: elements cannot occur ", repeats, " times"));
  }
  // As many dimensions as fit; more by their indices.
  if (shape.size() == Dims::kMax) {
    return repeat_interleave(
        x, full({}, static_cast<double>(repeats), {.dtype = DType::kI64}), dim);
  }
  Dims spread = x.shape();
  spread.insert(d + 1, 1);
  Dims wide = spread;
  wide[d + 1] = repeats;
  return spread_copy(x, spread, wide, shape);
}

Tensor repeat_interleave(const Tensor& x, const Tensor& given,
                         std::optional<std::int64_t> dim) {
  check_defined(x, "repeat_interleave");
  const Tensor repeats = as_int64(given, "repeat_interleave");
  if (!dim) return repeat_interleave(flat(x), repeats, 0);
  const std::int64_t size = x.size(*dim);
  if (repeats.dim() > 1 ||
      (repeats.num_elements() != 1 && repeats.num_elements() != size)) {
    throw InvalidArgument(absl::StrCat(
        "repeat_interleave: repeats ", repeats.describe(), " do not go with ",
        size, " elements; wanted are as many, or one"));
  }
  autograd::report_reads(repeats);
  const auto counts = repeats.to_vector<std::int64_t>();
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t count =
        counts[counts.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    if (count < 0) {
      throw InvalidArgument(absl::StrCat(
          "repeat_interleave: elements cannot occur ", count, " times"));
    }
    chosen.insert(chosen.end(), static_cast<std::size_t>(count), i);
  }
  const auto total = static_cast<std::int64_t>(chosen.size());
  return index_select(x, *dim, from_vector(chosen, {total}));
}

}  // namespace hvd
