// SPDX-License-Identifier: Apache-2.0
// Vectorized loops over float32 for functions of one element, and for their
// derivatives. A struct in ops/unary defines the same functions for numbers.
//
//   const float* in[] = {x};
//   value_loop(FunctionId::kHardtanh)(in, {-1.0f, 1.0f}, out, n);
//
// Results are within a few units in the last place. Thread-safe.
#pragma once

#include <cstdint>

#include "horovodpp/kernel/functions/loop_type.h"

namespace hvd::autograd {

// HVD_VECTOR_FUNCTIONS(X): X(name) for each function.
#define HVD_VECTOR_FUNCTIONS(X) \
  X(Elu)                        \
  X(Softplus)                   \
  X(LogSigmoid)                 \
  X(Mish)                       \
  X(Softsign)                   \
  X(Hardswish)                  \
  X(Hardtanh)                   \
  X(Hardsigmoid)                \
  X(Hardshrink)                 \
  X(Softshrink)                 \
  X(Threshold)                  \
  X(Log1p)                      \
  X(Expm1)                      \
  X(Log2)                       \
  X(Log10)                      \
  X(Exp2)                       \
  X(Reciprocal)                 \
  X(Tan)                        \
  X(Asin)                       \
  X(Acos)                       \
  X(Atan)                       \
  X(Sinh)                       \
  X(Cosh)                       \
  X(Asinh)                      \
  X(Acosh)                      \
  X(Atanh)                      \
  X(Erfc)                       \
  X(Erfinv)                     \
  X(Sinc)                       \
  X(Logit)                      \
  X(NanToNum)                   \
  X(Trunc)                      \
  X(Frac)

enum class FunctionId : std::uint8_t {
#define HVD_ENUMERATOR(Name) k##Name,
  HVD_VECTOR_FUNCTIONS(HVD_ENUMERATOR)
#undef HVD_ENUMERATOR
      kCount
};

// y = f(x)
FunctionLoop value_loop(FunctionId id);
// dx = dy f'(x), of dy and x; of dy and y if the struct has kSavesResult.
FunctionLoop slope_loop(FunctionId id);

}  // namespace hvd::autograd
