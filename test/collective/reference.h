// SPDX-License-Identifier: Apache-2.0
// A slow reference for reductions: one element at a time, in double. Exact as
// long as all intermediate values are small integers or halves.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/data_plane.h"

namespace hvd::collective {

// The operations that reduce element by element.
inline constexpr auto kAllOps = [] {
  constexpr auto kCount =
      std::count_if(std::begin(kReduceOps), std::end(kReduceOps),
                    [](const ReduceOpRow& row) { return !row.whole_tensors; });
  std::array<ReduceOp, static_cast<std::size_t>(kCount)> ops = {};
  std::size_t next = 0;
  for (const ReduceOpRow& row : kReduceOps) {
    if (!row.whole_tensors) ops[next++] = row.op;
  }
  return ops;
}();

inline double get(DType dtype, const void* data, std::int64_t i) {
  return visit(dtype, [&]<typename T>(TypeTag<T>) {
    T value;
    std::memcpy(&value,
                static_cast<const std::byte*>(data) +
                    static_cast<std::size_t>(i) * sizeof(T),
                sizeof(T));
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

inline void put(DType dtype, void* data, std::int64_t i, double number) {
  visit(dtype, [&]<typename T>(TypeTag<T>) {
    T value;
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      value = T(static_cast<float>(number));
    } else {
      value = static_cast<T>(number);
    }
    std::memcpy(
        static_cast<std::byte*>(data) + static_cast<std::size_t>(i) * sizeof(T),
        &value, sizeof(T));
  });
}

// The distance from 1 to the next value of `dtype`; 0 for integers.
inline double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    case DType::kF32:
      return 0x1p-23;
    case DType::kF64:
      return 0x1p-52;
    default:
      return 0;
  }
}

// A small integer that every rank can compute, negative for some `i` if the
// type is signed. Products of a few stay small.
inline double small_value(DType dtype, ReduceOp op, int rank, std::int64_t i) {
  if (dtype == DType::kBool) return (i + rank) % 3 != 0 ? 1 : 0;
  const bool is_signed = dtype != DType::kU8;
  if (op == ReduceOp::kProduct) {
    const double value = static_cast<double>((i + rank) % 2 + 1);
    return is_signed && (i + 2 * rank) % 3 == 0 ? -value : value;
  }
  const double value = static_cast<double>((i * 7 + rank * 3) % 11);
  return is_signed ? value - 5 : value;
}

template <typename A>
A combine(ReduceOp op, A a, A b) {
  switch (op) {
    case ReduceOp::kMin:
      return a < b || a != a ? a : b;
    case ReduceOp::kMax:
      return a > b || a != a ? a : b;
    case ReduceOp::kProduct:
      return a * b;
    default:
      return a + b;
  }
}

// The reduction of `values`, one from each rank.
inline double reference(const Reduction& reduction,
                        const std::vector<double>& values) {
  const bool whole = !is_floating_point(reduction.dtype);
  const auto settle = [&](double v) { return whole ? std::trunc(v) : v; };
  double result = settle(values[0] * reduction.prescale);
  for (std::size_t r = 1; r < values.size(); ++r) {
    result =
        combine(reduction.op, result, settle(values[r] * reduction.prescale));
  }
  if (reduction.dtype == DType::kBool) return result != 0 ? 1 : 0;
  if (reduction.op == ReduceOp::kAverage) {
    const auto ranks = static_cast<double>(values.size());
    const double divisor =
        reduction.participants > 0 ? reduction.participants : ranks;
    result = settle(result / divisor);
  }
  return settle(result * reduction.postscale);
}

// The period of small_value() in elements, and so of its reductions.
inline constexpr std::int64_t kSmallPeriod = 66;

// One period of the reduction of small_value() over `ranks`, from element 0 on.
inline std::vector<double> small_reference(const Reduction& reduction,
                                           const std::vector<int>& ranks) {
  std::vector<double> period;
  for (std::int64_t i = 0; i < kSmallPeriod; ++i) {
    std::vector<double> values;
    for (const int rank : ranks) {
      values.push_back(small_value(reduction.dtype, reduction.op, rank, i));
    }
    period.push_back(reference(reduction, values));
  }
  return period;
}

inline std::string describe(const Reduction& reduction) {
  return absl::StrCat(name_of(reduction.op), " of ", name_of(reduction.dtype),
                      ", prescale ", reduction.prescale, ", postscale ",
                      reduction.postscale);
}

}  // namespace hvd::collective
