// SPDX-License-Identifier: Apache-2.0
// What stands between the brackets of x[…]:
//
//   x.index({0, Slice(1, 3)})              // x[0, 1:3]        a view
//   x.index({kEllipsis, kNewAxis})         // x[..., None]     a view
//   x.index({rows, Slice()})               // int64 rows       a copy
//   x.index_put_({mask}, 0.0)              // x[mask] = 0      bool mask
//
// Numbers, slices, kNewAxis and kEllipsis make views; a tensor [] of signed
// integers is a number. Another int64 tensor picks
// elements of a dimension, and several of them, which broadcast together, points;
// a bool mask stands for the places where it is true, and takes as many
// dimensions as it has. Their dimensions appear where the first of them stood, or
// in front if there is a slice between them. Negative numbers count from the end.
#pragma once

#include <cstdint>
#include <limits>
#include <variant>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// start, start + step, … below end; cut to what there is.
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
