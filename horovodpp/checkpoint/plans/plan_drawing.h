// SPDX-License-Identifier: Apache-2.0
// Draws a plan (plan.h): when each stage runs forward, recomputes, runs
// backward and communicates, and the memory in use.
//
//   std::ofstream("plan.svg") << hvd::draw(plan, chain.cost_for(x));
#pragma once

#include <string>

#include "horovodpp/checkpoint/plans/plan.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// An SVG for these costs: time from left to right, one row per stage, memory
// below.
//   InvalidArgument  the plan is for another number of stages
std::string draw(const CheckpointPlan& plan, const ChainCost& chain);

}  // namespace hvd
