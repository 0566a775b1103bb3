// SPDX-License-Identifier: Apache-2.0
// Random programs with known outcomes. A program is a sequence of phases. In
// each phase a rank submits all its operations before it waits, so that a
// program alone never deadlocks:
//
//   training  some names over several equal steps, in any order on each rank.
//             Sometimes a name is late on one rank, or has a new shape, or a
//             shape that other ranks do not agree with
//   join      members of one or two sets run out of data at different times
//   sets      process sets are added and removed, also with work in flight
//   leave     one rank leaves before the others
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
