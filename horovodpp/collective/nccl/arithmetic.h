// SPDX-License-Identifier: Apache-2.0
// What NCCL calls a Reduction, where it has it.
#pragma once

#include <optional>

#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/reduce/reduction.h"

namespace hvd::collective {

struct NcclReduction {
  NcclDType type = kNcclUint8;
  NcclOp op = kNcclSum;
  // What contributions are multiplied by before they are summed; 1: nothing.
  double factor = 1.0;
};

// How NCCL reduces between `ranks`; nullopt where it cannot, or would give another
// result: 16-bit integers, averages and scales of integers, scales of what is not
// a sum, Adasum; and a scale that rounds too much in the type of the elements, in
// which NCCL multiplies: of 16-bit numbers, any but powers of two. (What an average
// divides by is not counted as such: it is rounded to the type, as ncclAvg does.)
std::optional<NcclReduction> nccl_reduction(const Reduction& reduction,
                                            int ranks);

}  // namespace hvd::collective
