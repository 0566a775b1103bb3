// SPDX-License-Identifier: Apache-2.0
// The parameter of the kernels on elements of tensors (tensors.cu): a plain
// struct, passed by value, with the same layout on the host and on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/core/dtype.h"

namespace hvd::device::kernels {

// How a kernel compares x with y or with a number.
enum class Comparison : std::uint32_t { kEq, kNe, kLt, kLe, kGt, kGe };

// out = f(x, y, c) for elements at equal indices of three tensors. Strides are
// those of the common shape: 0 where an operand repeats.
struct ElementsArguments {
  static constexpr std::size_t kMostDims = 8;
  static constexpr std::size_t kOut = 0;
  static constexpr std::size_t kX = 1;
  static constexpr std::size_t kY = 2;

  void* memory[3] = {};  // Of `out`, x and y; nullptr: there is none.
  std::int64_t count = 0;
  std::uint32_t rank = 1;      // At least 1.
  std::uint32_t function = 0;  // A LoopId, or a Comparison.
  std::int64_t sizes[kMostDims] = {};
  std::int64_t steps[kMostDims][3] = {};  // In elements, likewise.
  // The number c of a function: as it is, and for integers.
  double c = 0.0;
  std::int64_t whole = 0;
  // The element that fills `out` where there is no x.
  std::uint64_t bits = 0;
  // Of a conversion.
  DType from = DType::kF32;
  DType to = DType::kF32;
};
static_assert(sizeof(ElementsArguments) <= 4096);

}  // namespace hvd::device::kernels
