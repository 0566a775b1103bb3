// SPDX-License-Identifier: Apache-2.0
// A Shape is the dimensions of a tensor, slowest first. Without dimensions it
// is a scalar of one element. A dimension of 0 is legal and means no elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/int_span.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

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
