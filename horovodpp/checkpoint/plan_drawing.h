// SPDX-License-Identifier: Apache-2.0
// A picture of what a plan does (plan.h): when each stage runs forward, again and
// backward, when it communicates, and how much memory is held meanwhile.
//
//   std::ofstream("plan.svg") << hvd::draw(plan, chain.cost_for(x));
#pragma once

#include <string>

#include "horovodpp/checkpoint/plan.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// As SVG, by these costs: time from left to right, a row for each stage, the
// memory below.
//   InvalidArgument  the plan is for another number of stages
std::string draw(const CheckpointPlan& plan, const ChainCost& chain);

}  // namespace hvd
