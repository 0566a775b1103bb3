// SPDX-License-Identifier: Apache-2.0
// The planner for chains whose stages communicate.
#pragma once

#include <cstdint>

#include "horovodpp/checkpoint/pair_table.h"
#include "horovodpp/checkpoint/plan.h"

namespace hvd::autograd {

// The plan of the least step_seconds within these slots; no stages if none is
// found.
CheckpointPlan plan_with_overlap(const ChainCost& chain,
                                 const PlanSlots& slots);

// How many slots are affordable for this many stages.
std::int64_t most_overlap_slots(const ChainCost& chain);

}  // namespace hvd::autograd
