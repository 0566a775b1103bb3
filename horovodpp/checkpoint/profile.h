// SPDX-License-Identifier: Apache-2.0
// Measures the bytes and times of a chain of functions, for plan.h.
#pragma once

#include <vector>

#include "horovodpp/checkpoint/plans/plan.h"
#include "horovodpp/checkpoint/sequential.h"
#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct ProfileOptions {
  // Runs of the whole chain. The fastest time counts for each stage.
  int repetitions = 3;
  // Communication time per byte of gradient: the time of an allreduce of a
  // step's gradients, divided by their bytes. If positive, plans take it into
  // account (StageCost::communication_seconds).
  double communication_seconds_per_byte = 0.0;
};

// Runs each function forward and backward separately, on tensors like those it
// receives when the chain runs on `input`. Leaves grad() and the generator
// unchanged. Hooks of leaves do not run, and is_recomputing() is true, so that
// effects are skipped as in a recomputation. Bytes are those requested from
// cpu_allocator(). Memory that saved tensors share counts once; gradients of
// leaves (parameters) do not count, since every plan has them. Seconds are CPU
// time of this thread.
//   InvalidArgument  there are no functions, or no repetitions
ChainCost profile_chain(const std::vector<ChainFunction>& functions,
                        const Tensor& input,
                        const ProfileOptions& options = {});
// With one option per way of a stage.
ChainCost profile_chain(const std::vector<ChainStage>& stages,
                        const Tensor& input,
                        const ProfileOptions& options = {});

}  // namespace hvd
