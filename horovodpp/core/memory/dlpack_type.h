// SPDX-License-Identifier: Apache-2.0
// A DlpackType is DLPack's name for the type of a tensor's elements. Each DType
// has one:
//
//   const DlpackType type = dlpack_type(DType::kBF16);   // {4, 16, 1}
//   assert(dtype_of_dlpack(type) == DType::kBF16);
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/dtype.h"

namespace hvd {

// With the fields of DLPack's DLDataType, of dlpack.h version 1.
struct DlpackType {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};

inline DlpackType dlpack_type(DType dtype) {
  constexpr std::uint8_t kInt = 0;
  constexpr std::uint8_t kUInt = 1;
  constexpr std::uint8_t kFloat = 2;
  constexpr std::uint8_t kBfloat = 4;
  constexpr std::uint8_t kBool = 6;
  const auto bits = static_cast<std::uint8_t>(size_of(dtype) * 8);
  switch (dtype) {
    case DType::kBool:
      return {kBool, bits};
    case DType::kBF16:
      return {kBfloat, bits};
    case DType::kU8:
      return {kUInt, bits};
    default:
      return {is_floating_point(dtype) ? kFloat : kInt, bits};
  }
}

// nullopt for a type that no DType has, such as a vector of several lanes.
inline std::optional<DType> dtype_of_dlpack(const DlpackType& type) {
  for (const DType dtype : kAllDTypes) {
    const DlpackType known = dlpack_type(dtype);
    if (known.code == type.code && known.bits == type.bits &&
        known.lanes == type.lanes) {
      return dtype;
    }
  }
  return std::nullopt;
}

}  // namespace hvd
