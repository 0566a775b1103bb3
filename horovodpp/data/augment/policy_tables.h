// SPDX-License-Identifier: Apache-2.0
// The pairs of operations that AutoAugment's search found.
#pragma once

#include <array>

#include "horovodpp/data/augment/augmentations.h"

namespace hvd::data::augment {

// An operation, done with `probability`; `magnitude` is one of 10 bins.
struct PolicyStep {
  Augmentation augmentation;
  double probability;
  int magnitude = 0;
};
using PolicyTable = std::array<std::array<PolicyStep, 2>, 25>;

// Lives forever.
//   InvalidArgument  there is no such policy
const PolicyTable& policy_table(AutoAugmentPolicy policy);

}  // namespace hvd::data::augment
