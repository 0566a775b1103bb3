// SPDX-License-Identifier: Apache-2.0
// Measuring a chain of functions for plan.h: what each of them keeps, needs and
// takes.
#pragma once

#include <vector>

#include "horovodpp/checkpoint/plan.h"
#include "horovodpp/checkpoint/sequential.h"
#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct ProfileOptions {
  int repetitions =
      3;  // Of the whole chain. The fastest counts for each stage.
  // Seconds that other ranks' part in a gradient takes, for each byte of it: those
  // of an allreduce of the gradients of a step, divided by their bytes. Above 0, a
  // plan reckons with it (StageCost::communication_seconds).
  double communication_seconds_per_byte = 0.0;
};

// Runs each function forward and backward on its own, on tensors like those that
// it is given when the chain runs on `input`. Nothing else changes: no grad(), no
// generator; hooks of leaves do not run, and is_recomputing() is true, so that
// effects that a recomputation leaves out do not happen. Counts bytes as
// requested from cpu_allocator(), memory that several saved tensors share once,
// and gradients of leaves (parameters) not at all: they exist with any plan.
// Seconds are those in which this thread had a processor.
//   InvalidArgument  there are no functions, or no repetitions
ChainCost profile_chain(const std::vector<ChainFunction>& functions,
                        const Tensor& input,
                        const ProfileOptions& options = {});
// Each way of a stage is an option of it.
ChainCost profile_chain(const std::vector<ChainStage>& stages,
                        const Tensor& input,
                        const ProfileOptions& options = {});

}  // namespace hvd
