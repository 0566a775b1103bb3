// SPDX-License-Identifier: Apache-2.0
// Readable texts for the trace of a simulated job.
#pragma once

#include <string>
#include <string_view>

#include "test/simulation/simulated_rank.h"

namespace hvd::simulation {

// The content of a letter.
std::string describe_mail(std::string_view letter);

// The state of a rank.
std::string describe_rank(int index, const SimulatedRank& rank);

}  // namespace hvd::simulation
