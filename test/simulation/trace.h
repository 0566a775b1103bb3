// SPDX-License-Identifier: Apache-2.0
// Texts for a person who follows a simulated job.
#pragma once

#include <string>

#include "test/simulation/simulated_rank.h"

namespace hvd::simulation {

// A message, from its bytes.
std::string describe_mail(const std::string& bytes);

// Where a rank is.
std::string describe_rank(int index, const SimulatedRank& rank);

}  // namespace hvd::simulation
