// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/promotion.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd {
namespace {

constexpr std::size_t kDTypes = std::size(kAllDTypes);
using PromotionTable = std::array<std::array<DType, kDTypes>, kDTypes>;

// Rows and columns in the order of DType.
constexpr PromotionTable kPromotions = [] {
  constexpr DType u8 = DType::kU8, i8 = DType::kI8, i16 = DType::kI16,
                  i32 = DType::kI32, i64 = DType::kI64, f16 = DType::kF16,
                  b16 = DType::kBF16, f32 = DType::kF32, f64 = DType::kF64,
                  b = DType::kBool;
  return PromotionTable{{
      // u8, i8,  i16, i32, i64, f16, b16, f32, f64, bool
      {u8, i16, i16, i32, i64, f16, b16, f32, f64, u8},
      {i16, i8, i16, i32, i64, f16, b16, f32, f64, i8},
      {i16, i16, i16, i32, i64, f16, b16, f32, f64, i16},
      {i32, i32, i32, i32, i64, f16, b16, f32, f64, i32},
      {i64, i64, i64, i64, i64, f16, b16, f32, f64, i64},
      {f16, f16, f16, f16, f16, f16, f32, f32, f64, f16},
      {b16, b16, b16, b16, b16, f32, b16, f32, f64, b16},
      {f32, f32, f32, f32, f32, f32, f32, f32, f64, f32},
      {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64},
      {u8, i8, i16, i32, i64, f16, b16, f32, f64, b},
  }};
}();

std::optional<DType> promoted(std::optional<DType> a, DType b) {
  return a ? promote_types(*a, b) : b;
}

// `higher`, unless `lower` has a higher category.
std::optional<DType> combined(std::optional<DType> higher,
                              std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower || category_of(*lower) <= category_of(*higher)) return higher;
  return promote_types(*higher, *lower);
}

}  // namespace

DType promote_types(DType a, DType b) {
  return kPromotions[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

bool can_cast(DType from, DType to) {
  return category_of(from) <= category_of(to);
}

ResultType& ResultType::add(const Tensor& tensor) {
  if (!tensor.defined()) return *this;
  auto& so_far = tensor.dim() == 0 ? zero_dim_ : dimensioned_;
  so_far = promoted(so_far, tensor.dtype());
  return *this;
}

ResultType& ResultType::add(Scalar number) {
  number_ = promoted(number_, number.dtype());
  return *this;
}

DType ResultType::dtype() const {
  return combined(dimensioned_, combined(zero_dim_, number_))
      .value_or(DType::kBool);
}

DType result_type(const Tensor& a, const Tensor& b) {
  return ResultType().add(a).add(b).dtype();
}

DType result_type(const std::vector<Tensor>& tensors) {
  ResultType result;
  for (const Tensor& tensor : tensors) result.add(tensor);
  return result.dtype();
}

namespace autograd {

void check_castable(DType result, const Tensor& self, const char* operation) {
  if (can_cast(result, self.dtype())) return;
  throw InvalidArgument(
      absl::StrCat(operation, ": a result of dtype ", name_of(result),
                   " cannot be cast to ", self.describe(),
                   ", the tensor written to; convert that with to(), or "
                   "use the form that returns a new tensor"));
}

}  // namespace autograd

}  // namespace hvd
