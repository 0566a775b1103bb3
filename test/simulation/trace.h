// SPDX-License-Identifier: Apache-2.0
// Texts for a person who follows a simulated job.
#pragma once

#include <string>
#include <string_view>

#include "test/simulation/simulated_rank.h"

namespace hvd::simulation {

// What a letter says.
std::string describe_mail(std::string_view letter);

// Where a rank is.
std::string describe_rank(int index, const SimulatedRank& rank);

}  // namespace hvd::simulation
