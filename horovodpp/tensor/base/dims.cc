// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/dims.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::autograd {
namespace {

void check_rank(std::size_t rank) {
  if (rank > Dims::kMax) {
    throw InvalidArgument(absl::StrCat("a tensor has at most ", Dims::kMax,
                                       " dimensions, not ", rank));
  }
}

}  // namespace

Dims::Dims(std::span<const std::int64_t> values) : size_(values.size()) {
  check_rank(values.size());
  std::copy(values.begin(), values.end(), values_.begin());
}

Dims Dims::filled(std::size_t size, std::int64_t value) {
  check_rank(size);
  Dims dims;
  dims.size_ = size;
  std::fill_n(dims.values_.begin(), size, value);
  return dims;
}

void Dims::push_back(std::int64_t value) { insert(size_, value); }

void Dims::insert(std::size_t at, std::int64_t value) {
  check_rank(size_ + 1);
  for (std::size_t i = size_; i > at; --i) values_[i] = values_[i - 1];
  values_[at] = value;
  ++size_;
}

void Dims::erase(std::size_t at) {
  for (std::size_t i = at; i + 1 < size_; ++i) values_[i] = values_[i + 1];
  --size_;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = Dims::filled(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    // Unsigned, since the product may wrap for a shape that will be refused.
    strides[i - 1] = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(strides[i]) *
        static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1)));
  }
  return strides;
}

bool is_contiguous(const Dims& shape, const Dims& strides) {
  if (shape.product() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool is_dense(const Dims& shape, const Dims& strides) {
  if (is_contiguous(shape, strides)) return true;
  // Searches dimensions from the fastest to the slowest.
  std::int64_t expected = 1;
  std::array<bool, Dims::kMax> placed{};
  while (expected != shape.product()) {
    std::size_t next = 0;
    while (next < shape.size() &&
           (placed[next] || shape[next] == 1 || strides[next] != expected)) {
      ++next;
    }
    if (next == shape.size()) return false;
    placed[next] = true;
    expected *= shape[next];
  }
  return true;
}

Dims strides_like(const Dims& shape, const Dims& strides) {
  if (is_contiguous(shape, strides)) return contiguous_strides(shape);
  std::array<std::size_t, Dims::kMax> order;  // Slowest first.
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] == 0) return contiguous_strides(shape);
    std::size_t at = d;
    while (at > 0 && strides[order[at - 1]] < strides[d]) {
      order[at] = order[at - 1];
      --at;
    }
    order[at] = d;
  }
  Dims result = Dims::filled(shape.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    result[order[i]] = step;
    step *= std::max<std::int64_t>(shape[order[i]], 1);
  }
  return result;
}

bool same_layout(const Dims& shape, const Dims& a, const Dims& b) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

void throw_bad_shape(const Dims& shape, std::size_t element_bytes) {
  const absl::Status status = shape.to_shape().checked(element_bytes);
  throw InvalidArgument(
      status.ok() ? absl::StrCat("shape ", shape.to_string(), " is too large")
                  : std::string(status.message()));
}

Dims broadcast(const Dims& a, const Dims& b, const char* operation) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const std::size_t missing = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& dim = result[missing + i];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) {
      throw InvalidArgument(absl::StrCat(operation, ": shapes ", a.to_string(),
                                         " and ", b.to_string(),
                                         " do not broadcast to each other"));
    }
    dim = shorter[i];
  }
  return result;
}

bool broadcasts_to(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  const std::size_t missing = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[missing + i] && from[i] != 1) return false;
  }
  return true;
}

std::size_t checked_dim(std::int64_t dim, std::size_t rank,
                        const char* operation) {
  const auto count = static_cast<std::int64_t>(rank);
  const std::int64_t result = dim < 0 ? dim + count : dim;
  if (result < 0 || result >= count) {
    throw InvalidArgument(absl::StrCat(operation, ": dimension ", dim,
                                       " is out of range for a tensor of ",
                                       count, " dimensions"));
  }
  return static_cast<std::size_t>(result);
}

}  // namespace hvd::autograd
