// SPDX-License-Identifier: Apache-2.0
// Vectorized loops over float32 for functions of two elements, and for their
// derivatives. A struct in ops/binary defines the same functions for numbers.
//
//   const float* in[] = {a, b};
//   pair_value_loop(PairId::kMaximum)(in, {}, out, n);
//
// Results are within a few units in the last place. Thread-safe.
#pragma once

#include <cstdint>

#include "horovodpp/kernel/functions/loop_type.h"

namespace hvd::autograd {

// HVD_VECTOR_PAIRS(X): X(name) for each function.
#define HVD_VECTOR_PAIRS(X) \
  X(Maximum)                \
  X(Minimum)                \
  X(Fmax)                   \
  X(Fmin)                   \
  X(Remainder)              \
  X(Fmod)                   \
  X(Atan2)                  \
  X(Hypot)                  \
  X(Copysign)               \
  X(Logaddexp)              \
  X(Logaddexp2)             \
  X(Xlogy)                  \
  X(Xlog1py)

enum class PairId : std::uint8_t {
#define HVD_ENUMERATOR(Name) k##Name,
  HVD_VECTOR_PAIRS(HVD_ENUMERATOR)
#undef HVD_ENUMERATOR
      kCount
};

// z = f(a, b)
FunctionLoop pair_value_loop(PairId id);
// The derivatives da and db. The inputs are dz, a and b. Exceptions: dz, the
// operand and z for Hypot, and dz, a and z for Copysign.
FunctionLoop pair_first_loop(PairId id);
FunctionLoop pair_second_loop(PairId id);

}  // namespace hvd::autograd
