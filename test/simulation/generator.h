// SPDX-License-Identifier: Apache-2.0
// Random programs of which the outcome is known. They are phases one after the
// other; in each, a rank first submits what it has to and then waits, so that a
// program by itself never deadlocks:
//
//   training  some names over several equal steps, in any order on each rank;
//             now and then something is odd: a name comes late on one rank, has
//             a new shape, or one that others do not agree with
//   join      members of one or two sets run out of data at different times
//   sets      process sets are added and removed, also with work in flight
//   leave     one rank leaves before the others
//
#pragma once

#include <cstdint>

#include "test/simulation/program.h"

namespace hvd::simulation {

struct Limits {
  int min_ranks = 1;
  int max_ranks = 8;
  int max_phases = 8;
  int max_names = 8;  // In a step.
  // Percentages of programs.
  int early_leaves = 15;
  int deaths = 10;
  int stalls = 2;
};

Program generate(std::uint64_t seed, const Limits& limits);

}  // namespace hvd::simulation
