// SPDX-License-Identifier: Apache-2.0
// The dtype of a result, by PyTorch's rules. Operands of different dtypes meet
// in the smallest dtype that holds both (promote_types()). Tensors without
// dimensions and numbers raise that dtype only to a higher category:
// bool < integers < floating point.
//
//   result_type(ones({2}, {.dtype = DType::kI32}), 0.5);  // float32
//   result_type(ones({2}, {.dtype = DType::kBF16}), 0.5);  // bfloat16
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "horovodpp/core/dtype.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

enum class DTypeCategory : std::uint8_t { kBool, kInteger, kFloating };

inline DTypeCategory category_of(DType dtype) {
  if (is_floating_point(dtype)) return DTypeCategory::kFloating;
  return dtype == DType::kBool ? DTypeCategory::kBool : DTypeCategory::kInteger;
}

// The dtype of floating-point results whose operands have none.
inline constexpr DType kDefaultDType = DType::kF32;

// A number as an operand: its value, and the category of its C++ type. Integers
// are exact up to 2^53.
class Scalar {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> Scalar(T value)  // NOLINT: implicit
      : value_(static_cast<double>(value)),
        category_(std::is_floating_point_v<T> ? DTypeCategory::kFloating
                  : std::is_same_v<T, bool>   ? DTypeCategory::kBool
                                              : DTypeCategory::kInteger) {}

  Scalar operator-() const {
    Scalar negative = *this;
    negative.value_ = -value_;
    return negative;
  }
  double value() const { return value_; }
  DTypeCategory category() const { return category_; }
  // float32, int64 or bool.
  DType dtype() const {
    if (category_ == DTypeCategory::kFloating) return kDefaultDType;
    return category_ == DTypeCategory::kBool ? DType::kBool : DType::kI64;
  }

 private:
  double value_;
  DTypeCategory category_;
};

// The smallest dtype that holds the values of both; float32 for float16 and
// bfloat16, and the floating dtype for an integer and a floating dtype.
DType promote_types(DType a, DType b);

// Whether a result of dtype `from` may be written to a tensor of dtype `to`: no
// cast goes to a lower category.
bool can_cast(DType from, DType to);

// The dtype of an operation's result, from its operands one by one.
class ResultType {
 public:
  // Ignores an undefined tensor.
  ResultType& add(const Tensor& tensor);
  ResultType& add(Scalar number);
  // bool without operands.
  DType dtype() const;

 private:
  std::optional<DType> dimensioned_;
  std::optional<DType> zero_dim_;
  std::optional<DType> number_;
};

DType result_type(const Tensor& a, const Tensor& b);
inline DType result_type(const Tensor& a, Scalar b) {
  return b.category() <= category_of(a.dtype())
             ? a.dtype()
             : promote_types(a.dtype(), b.dtype());
}
DType result_type(const std::vector<Tensor>& tensors);

namespace autograd {

// `dtype`, or float32 for integers and bool: the result of true division and of
// other functions that are not closed on integers.
inline DType floating_result(DType dtype) {
  return is_floating_point(dtype) ? dtype : kDefaultDType;
}

// Checks that an in-place operation may write a result of this dtype to `self`.
//   InvalidArgument  it may not (can_cast()); names `operation`
void check_castable(DType result, const Tensor& self, const char* operation);

}  // namespace autograd
}  // namespace hvd
