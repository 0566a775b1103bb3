// SPDX-License-Identifier: Apache-2.0
// One number per dimension of a tensor: its shape, its strides, an order or a
// list of dimensions. Stored inline without allocation, up to Dims::kMax
// dimensions. (Class Shape of folder core, with any number of dimensions, is
// what ranks exchange.)
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
  // InvalidArgument for more than kMax dimensions.
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

  // The product; 1 if empty. Wraps for shapes too large for any memory.
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

// Row-major strides, in elements.
Dims contiguous_strides(const Dims& shape);

// Whether the strides are row-major without gaps.
bool is_contiguous(const Dims& shape, const Dims& strides);

// Whether all elements have distinct addresses without gaps, in any order of
// dimensions.
bool is_dense(const Dims& shape, const Dims& strides);

// Dense strides for `shape`, with dimensions in the memory order of `strides`;
// row-major if a stride is 0 (repeats elements).
Dims strides_like(const Dims& shape, const Dims& strides);

// Whether strides `a` and `b` give the same layout; dimensions of one element
// do not matter.
bool same_layout(const Dims& shape, const Dims& a, const Dims& b);

// Throws the InvalidArgument for a bad `shape` of elements of this size.
[[noreturn]] void throw_bad_shape(const Dims& shape, std::size_t element_bytes);

// The shape that `a` and `b` broadcast to.
//   InvalidArgument  a dimension differs and neither is 1; names `operation`
Dims broadcast(const Dims& a, const Dims& b, const char* operation);

// Whether a tensor of `from` broadcasts to `to`.
bool broadcasts_to(const Dims& from, const Dims& to);

// `dim` counted from the front; a negative `dim` counts from the back.
//   InvalidArgument  out of range; names `operation`
std::size_t checked_dim(std::int64_t dim, std::size_t rank,
                        const char* operation);

}  // namespace autograd
}  // namespace hvd
