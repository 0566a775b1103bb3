// SPDX-License-Identifier: Apache-2.0
// An Index is one entry between the brackets of x[…]:
//
//   x.index({0, Slice(1, 3)})              // x[0, 1:3]        a view
//   x.index({kEllipsis, kNewAxis})         // x[..., None]     a view
//   x.index({rows, Slice()})               // int64 rows       a copy
//   x.index_put_({mask}, 0.0)              // x[mask] = 0      bool mask
//
// Numbers, slices, kNewAxis and kEllipsis make views; a tensor [] of signed
// integers is a number. Other tensors choose elements:
// - an int64 tensor picks elements of one dimension;
// - several int64 tensors broadcast together and pick points;
// - a bool mask picks the places where it is true, and takes as many dimensions
//   as it has.
//
// The picked dimensions appear at the first tensor's place, or in front if a
// slice separates the tensors. Negative numbers count from the end.
#pragma once

#include <cstdint>
#include <limits>
#include <variant>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// start, start + step, … below end, clipped to the dimension.
struct Slice {
  explicit Slice(std::int64_t first = 0,
                 std::int64_t last = std::numeric_limits<std::int64_t>::max(),
                 std::int64_t distance = 1)
      : start(first), end(last), step(distance) {}
  std::int64_t start;
  std::int64_t end;
  std::int64_t step;
};

struct Ellipsis {};
struct NewAxis {};
inline constexpr Ellipsis kEllipsis;
inline constexpr NewAxis kNewAxis;

namespace autograd {

class Index {
 public:
  template <typename T>
  Index(T value)  // NOLINT(google-explicit-constructor)
      : value_(convert(std::move(value))) {}

  using Value = std::variant<std::int64_t, Slice, Ellipsis, NewAxis, Tensor>;
  const Value& value() const { return value_; }

 private:
  template <typename T>
  static Value convert(T value) {
    static_assert(!std::is_same_v<T, bool>, "true is no index");
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(value);
    } else {
      return value;
    }
  }
  Value value_;
};

}  // namespace autograd
}  // namespace hvd
