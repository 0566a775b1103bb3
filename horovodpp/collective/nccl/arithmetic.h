// SPDX-License-Identifier: Apache-2.0
// Maps a Reduction to NCCL's arithmetic, if NCCL has it.
#pragma once

#include <optional>

#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/reduce/reduction.h"

namespace hvd::collective {

struct NcclReduction {
  NcclDType type = kNcclUint8;
  NcclOp op = kNcclSum;
  // Multiplies contributions before the sum; 1: no scaling.
  double factor = 1.0;
};

// How NCCL reduces between `ranks`; nullopt if it cannot, or would give another
// result:
// - 16-bit integers; averages and scales of integers; scales of operations
//   other than sums; Adasum;
// - a scale that rounds too much in the type of the elements, in which NCCL
//   multiplies: for 16-bit numbers, any but powers of two.
//
// (An average's divisor does not count as a scale: it is rounded to the type,
// as ncclAvg does.)
std::optional<NcclReduction> nccl_reduction(const Reduction& reduction,
                                            int ranks);

}  // namespace hvd::collective
