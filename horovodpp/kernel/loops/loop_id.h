// SPDX-License-Identifier: Apache-2.0
// Names of the vector loops over float32 (float_loops.h), one for each functor
// (functors.h).
#pragma once

#include <cstdint>

namespace hvd::autograd {

// The functor of the same name defines the result of a loop.
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
