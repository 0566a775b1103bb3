// SPDX-License-Identifier: Apache-2.0
// The names of the vector loops over float32 (float_loops.h), one for each functor
// (functors.h).
#pragma once

#include <cstdint>

namespace hvd::autograd {

// What a loop computes of x, y and c is said at the functor of the same name.
enum class LoopId : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kAddScaled,
  kSubScaled,
  kAddScalar,
  kMulScalar,
  kNeg,
  kAbs,
  kRelu,
  kReluBackward,
  kSqrt,
  kSqrtBackward,
  kExp,
  kExpShifted,
  kLog,
  kTanh,
  kTanhBackward,
  kSigmoid,
  kSigmoidBackward,
  kErf,
  kErfBackward,
  kGelu,
  kGeluBackward,
  kGeluTanh,
  kGeluTanhBackward,
  kSoftmaxBackward,
  kLogSoftmaxBackward,
  kCount,
};

}  // namespace hvd::autograd
