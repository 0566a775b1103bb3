// SPDX-License-Identifier: Apache-2.0
// The planner for chains whose stages communicate.
#pragma once

#include <cstdint>

#include "horovodpp/checkpoint/plans/pair_table.h"
#include "horovodpp/checkpoint/plans/plan.h"

namespace hvd::autograd {

// The plan with the least step_seconds in these slots; no stages if none is
// found.
CheckpointPlan plan_with_overlap(const ChainCost& chain,
                                 const PlanSlots& slots);

// The largest practical number of slots for this number of stages.
std::int64_t most_overlap_slots(const ChainCost& chain);

}  // namespace hvd::autograd
