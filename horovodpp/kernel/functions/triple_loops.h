// SPDX-License-Identifier: Apache-2.0
// Vectorized loops over float32 for functions of three elements. Thread-safe.
//
//   const float* in[] = {x, a, b};
//   triple_loop(TripleId::kAddcmul)(in, {2.0f}, out, n);   // x + 2 a b
#pragma once

#include <cstdint>

#include "horovodpp/kernel/functions/loop_type.h"

namespace hvd::autograd {

// HVD_VECTOR_TRIPLES(X): X(name) for each function.
//   Lerp        x + c (a - x), for inputs x, a and c
//   LerpNumber  the same for inputs x and a, and the constant c
//   Addcmul     x + c a b, for inputs x, a and b
//   Addcdiv     x + c a / b
#define HVD_VECTOR_TRIPLES(X) \
  X(Lerp)                     \
  X(LerpNumber)               \
  X(Addcmul)                  \
  X(Addcdiv)

enum class TripleId : std::uint8_t {
#define HVD_ENUMERATOR(Name) k##Name,
  HVD_VECTOR_TRIPLES(HVD_ENUMERATOR)
#undef HVD_ENUMERATOR
};

FunctionLoop triple_loop(TripleId id);

}  // namespace hvd::autograd
