// SPDX-License-Identifier: Apache-2.0
// A number for each dimension of a tensor: its shape, its strides, an order or a
// list of dimensions. Stored in place: a tensor has at most Dims::kMax
// dimensions, and making one allocates nothing for them. (Shape, in core, is what
// ranks tell each other of a tensor, of any number of dimensions.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/shape.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class Dims {
 public:
  static constexpr std::size_t kMax = 8;

  Dims() = default;
  // InvalidArgument if there are more than kMax.
  Dims(std::initializer_list<std::int64_t> values)
      : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}
  Dims(const Shape& shape)  // NOLINT(google-explicit-constructor)
      : Dims(std::span<const std::int64_t>(shape.dims())) {}
  explicit Dims(std::span<const std::int64_t> values);
  static Dims filled(std::size_t size, std::int64_t value);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  std::int64_t back() const { return values_[size_ - 1]; }

  void push_back(std::int64_t value);
  void insert(std::size_t at, std::int64_t value);
  void erase(std::size_t at);

  // The product; 1 of none. Of a shape that no memory can hold, it wraps.
  std::int64_t product() const {
    std::uint64_t result = 1;
    for (std::size_t i = 0; i < size_; ++i) {
      result *= static_cast<std::uint64_t>(values_[i]);
    }
    return static_cast<std::int64_t>(result);
  }
  Shape to_shape() const {
    return Shape(std::vector<std::int64_t>(begin(), end()));
  }
  // "[2,3]".
  std::string to_string() const { return to_shape().to_string(); }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, kMax> values_{};
  std::size_t size_ = 0;
};

// Strides, in elements, of a tensor of this shape that lies row by row.
Dims contiguous_strides(const Dims& shape);

// Whether shape and strides describe memory that is filled row by row.
bool is_contiguous(const Dims& shape, const Dims& strides);

// Whether every element has a place of its own and no gap lies between them,
// in whatever order of dimensions.
bool is_dense(const Dims& shape, const Dims& strides);

// Dense strides for `shape` that step through memory in the order of dimensions
// in which `strides` do; row by row if one of those repeats elements (is 0).
Dims strides_like(const Dims& shape, const Dims& strides);

// Whether two tensors of this shape with strides `a` and `b` lie alike: strides
// of dimensions of one element do not matter.
bool same_layout(const Dims& shape, const Dims& a, const Dims& b);

// Throws the InvalidArgument that says what is wrong with `shape` for elements
// of so many bytes.
[[noreturn]] void throw_bad_shape(const Dims& shape, std::size_t element_bytes);

// The shape that `a` and `b` broadcast to.
//   InvalidArgument  a dimension differs and neither is 1; names `operation`
Dims broadcast(const Dims& a, const Dims& b, const char* operation);

// Whether a tensor of `from` broadcasts to `to`.
bool broadcasts_to(const Dims& from, const Dims& to);

// `dim` counted from the front; negative ones count from the back.
//   InvalidArgument  out of range; names `operation`
std::size_t checked_dim(std::int64_t dim, std::size_t rank,
                        const char* operation);

}  // namespace autograd
}  // namespace hvd
