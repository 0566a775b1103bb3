// SPDX-License-Identifier: Apache-2.0
// The operations that ReduceOp names. Each has a row of kReduceOps, where all
// layers read its properties. An operation that combines elements in its own
// way also has a Combine, which the CPU's loops and the GPUs' kernels share. A
// new operation is a new row and a new Combine.
//
// Also compiled for GPUs: after a change run scripts/make_ptx.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>

#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"

namespace hvd {

// The value that changes no other.
enum class Neutral : std::uint8_t { kZero, kOne, kLowest, kHighest };

enum class ElementKind : std::uint8_t { kFloat, kInteger, kBool };

inline ElementKind kind_of(DType dtype) {
  if (dtype == DType::kBool) return ElementKind::kBool;
  return is_floating_point(dtype) ? ElementKind::kFloat : ElementKind::kInteger;
}

struct ReduceOpRow {
  const char* name;  // For messages.
  ReduceOp op;
  // The operation whose Combine combines numbers, and the one for bools, which
  // are 0 or 1; nullopt: it does not reduce bools.
  ReduceOp numbers = op;
  std::optional<ReduceOp> bools = std::nullopt;
  bool of_integers = true;
  bool of_floats = true;
  Neutral neutral = Neutral::kZero;
  bool divides = false;        // The result, by the number of ranks.
  bool linear = false;         // So it has a gradient, and goes in parts.
  bool whole_tensors = false;  // Not element by element.
  // NCCL's number of its Combine. Of operations that combine numbers in their
  // own way.
  std::optional<int> nccl = std::nullopt;

  // The operation whose Combine combines elements of `kind`; nullopt: it does
  // not reduce them.
  constexpr std::optional<ReduceOp> combining(ElementKind kind) const {
    if (kind == ElementKind::kBool) return bools;
    const bool known = kind == ElementKind::kFloat ? of_floats : of_integers;
    return known ? std::optional<ReduceOp>(numbers) : std::nullopt;
  }
};

// In the order of the numbers.
inline constexpr ReduceOpRow kReduceOps[] = {
    {.name = "average",
     .op = ReduceOp::kAverage,
     .numbers = ReduceOp::kSum,
     .divides = true,
     .linear = true},
    {.name = "sum",
     .op = ReduceOp::kSum,
     .bools = ReduceOp::kMax,
     .linear = true,
     .nccl = 0},
    {.name = "adasum",
     .op = ReduceOp::kAdasum,
     .numbers = ReduceOp::kSum,
     .of_integers = false,
     .whole_tensors = true},
    {.name = "min",
     .op = ReduceOp::kMin,
     .bools = ReduceOp::kMin,
     .neutral = Neutral::kHighest,
     .nccl = 3},
    {.name = "max",
     .op = ReduceOp::kMax,
     .bools = ReduceOp::kMax,
     .neutral = Neutral::kLowest,
     .nccl = 2},
    {.name = "product",
     .op = ReduceOp::kProduct,
     .bools = ReduceOp::kMin,
     .neutral = Neutral::kOne,
     .nccl = 1},
};

// Of a number that no enumerator has: it reduces nothing.
inline constexpr ReduceOpRow kNoOp = {.name = "none",
                                      .op = static_cast<ReduceOp>(UINT8_MAX),
                                      .of_integers = false,
                                      .of_floats = false};

constexpr const ReduceOpRow& describe(ReduceOp op) {
  const auto number = static_cast<std::size_t>(op);
  return number < std::size(kReduceOps) ? kReduceOps[number] : kNoOp;
}

static_assert([] {
  for (std::size_t i = 0; i < std::size(kReduceOps); ++i) {
    if (static_cast<std::size_t>(kReduceOps[i].op) != i) return false;
  }
  return true;
}());

// Whether some operation combines elements of `kind` by the Combine of `op`.
constexpr bool is_combined(ElementKind kind, ReduceOp op) {
  for (const ReduceOpRow& row : kReduceOps) {
    if (row.combining(kind) == op) return true;
  }
  return false;
}

// Integers wrap: their arithmetic is unsigned. It has at least 32 bits, as the
// product of two uint16, promoted to int, overflows.
template <typename A>
struct Wrapping {
  using Type = std::common_type_t<unsigned, std::make_unsigned_t<A>>;
};
template <>
struct Wrapping<float> {
  using Type = float;
};
template <>
struct Wrapping<double> {
  using Type = double;
};

// How an operation combines two elements, in the type in which it computes. A
// result that `fits` is never out of the range of the elements.
template <ReduceOp kOp>
struct Combine;

template <>
struct Combine<ReduceOp::kSum> {
  static constexpr bool kFits = false;
  template <typename A>
  static constexpr A apply(A a, A b) {
    using W = typename Wrapping<A>::Type;
    return static_cast<A>(static_cast<W>(a) + static_cast<W>(b));
  }
};

template <>
struct Combine<ReduceOp::kProduct> {
  static constexpr bool kFits = false;
  template <typename A>
  static constexpr A apply(A a, A b) {
    using W = typename Wrapping<A>::Type;
    return static_cast<A>(static_cast<W>(a) * static_cast<W>(b));
  }
};

// b, also a NaN, replaces a number that is not less.
template <>
struct Combine<ReduceOp::kMin> {
  static constexpr bool kFits = true;
  template <typename A>
  static constexpr A apply(A a, A b) {
    return !(a < b) && a == a ? b : a;
  }
};

template <>
struct Combine<ReduceOp::kMax> {
  static constexpr bool kFits = true;
  template <typename A>
  static constexpr A apply(A a, A b) {
    return !(a > b) && a == a ? b : a;
  }
};

template <ReduceOp kOp>
struct OpTag {
  static constexpr ReduceOp kValue = kOp;
};

// Calls `f` with the OpTag of the operation whose Combine combines elements of
// `kKind` under `op`. Returns the result of `f`; empty if no such operation
// exists.
template <ElementKind kKind, std::size_t kRow = 0, typename F>
constexpr auto visit_combine(ReduceOp op, F f) {
  if constexpr (kRow == std::size(kReduceOps)) {
    return decltype(f(OpTag<ReduceOp::kMax>())){};
  } else {
    constexpr std::optional<ReduceOp> kBy = kReduceOps[kRow].combining(kKind);
    if constexpr (kBy.has_value()) {
      if (op == kReduceOps[kRow].op) return f(OpTag<*kBy>());
    }
    return visit_combine<kKind, kRow + 1>(op, f);
  }
}

}  // namespace hvd
