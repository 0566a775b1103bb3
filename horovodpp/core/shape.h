// SPDX-License-Identifier: Apache-2.0
// A Shape is the dimensions of a tensor, slowest first. Without dimensions it
// is a scalar of one element. A dimension of 0 is legal and means no elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

// A view of contiguous integers: a C++17 counterpart of std::span<const
// std::int64_t>. It converts to and from that and from any container of such
// integers.
class IntSpan {
 public:
  using value_type = std::int64_t;

  constexpr IntSpan() = default;
  constexpr IntSpan(const std::int64_t* data, std::size_t size)
      : data_(data), size_(size) {}
  template <typename Container,
            typename = std::enable_if_t<
                std::is_convertible_v<
                    decltype(std::declval<const Container&>().data()),
                    const std::int64_t*> &&
                std::is_convertible_v<
                    decltype(std::declval<const Container&>().size()),
                    std::size_t>>>
  constexpr IntSpan(const Container& container)  // NOLINT
      : IntSpan(container.data(), container.size()) {}

  constexpr const std::int64_t* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const std::int64_t* begin() const { return data_; }
  constexpr const std::int64_t* end() const { return data_ + size_; }
  constexpr std::int64_t operator[](std::size_t i) const { return data_[i]; }
  constexpr std::int64_t front() const { return data_[0]; }
  constexpr std::int64_t back() const { return data_[size_ - 1]; }
  // Without the first `count` elements; `count` is at most size().
  constexpr IntSpan subspan(std::size_t count) const {
    return {data_ + count, size_ - count};
  }

 private:
  const std::int64_t* data_ = nullptr;
  std::size_t size_ = 0;
};

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(IntSpan(dims.begin(), dims.size())) {}
  explicit Shape(IntSpan dims);

  std::size_t rank() const { return dims().size(); }
  std::int64_t operator[](std::size_t i) const { return dims()[i]; }
  IntSpan dims() const {
    return {rank_ <= kFew ? few_.data() : many_.data(), rank_};
  }

  // The product of the dimensions. Unspecified for shapes that checked()
  // refuses.
  std::int64_t num_elements() const;

  // InvalidArgument if a dimension is negative, or if elements of
  // `element_bytes` bytes would not fit into 2^63 bytes.
  Status checked(std::size_t element_bytes) const;

  // The shape without its first dimension; a scalar stays a scalar.
  Shape tail() const;

  // "[128,10]"; "[]" for a scalar.
  std::string to_string() const;

 private:
  // Shapes with at most this many dimensions, which most are, need no
  // allocation.
  static constexpr std::size_t kFew = 4;

  std::size_t rank_ = 0;
  std::array<std::int64_t, kFew> few_ = {};
  std::vector<std::int64_t> many_;  // All of them, if more than kFew.
};

bool operator==(const Shape& a, const Shape& b);

}  // namespace hvd
