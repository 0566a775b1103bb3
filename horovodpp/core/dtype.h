// SPDX-License-Identifier: Apache-2.0
// DType is the element type of a tensor. Only this header maps a DType to a C++
// type.
//
//   visit(dtype, [&]<typename T>(TypeTag<T>) {
//     add(static_cast<T*>(data), static_cast<const T*>(other), count);
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/core/half.h"

namespace HVD_EXPORT hvd {

// The numbers travel between ranks: do not renumber.
enum class DType : std::uint8_t {
  kU8 = 0,
  kI8 = 1,
  kI16 = 2,
  kI32 = 3,
  kI64 = 4,
  kF16 = 5,
  kBF16 = 6,
  kF32 = 7,
  kF64 = 8,
  kBool = 9,
};

inline constexpr DType kAllDTypes[] = {
    DType::kU8,  DType::kI8,   DType::kI16, DType::kI32, DType::kI64,
    DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kBool};

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls `f` with the TypeTag of `dtype`'s C++ type and returns its result.
template <typename F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kU8:
      return f(TypeTag<std::uint8_t>{});
    case DType::kI8:
      return f(TypeTag<std::int8_t>{});
    case DType::kI16:
      return f(TypeTag<std::int16_t>{});
    case DType::kI32:
      return f(TypeTag<std::int32_t>{});
    case DType::kI64:
      return f(TypeTag<std::int64_t>{});
    case DType::kF16:
      return f(TypeTag<f16>{});
    case DType::kBF16:
      return f(TypeTag<bf16>{});
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF64:
      return f(TypeTag<double>{});
    case DType::kBool:
      break;
  }
  return f(TypeTag<bool>{});
}

template <typename T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "not an element type");
  return DType::kU8;
}();
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::kU8;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<std::int16_t> = DType::kI16;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<f16> = DType::kF16;
template <>
inline constexpr DType dtype_of<bf16> = DType::kBF16;
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<double> = DType::kF64;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;

// Bytes of one element.
inline std::size_t size_of(DType dtype) {
  return visit(dtype,
               [](auto tag) { return sizeof(typename decltype(tag)::type); });
}

inline bool is_floating_point(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF32 || dtype == DType::kF64;
}

// "float32", "bfloat16", "bool" …, for messages.
std::string name_of(DType dtype);

// The DType with this number on the wire, or nullopt.
constexpr std::optional<DType> dtype_from_wire(std::uint8_t number) {
  if (number > static_cast<std::uint8_t>(DType::kBool)) return std::nullopt;
  return static_cast<DType>(number);
}

}  // namespace hvd
