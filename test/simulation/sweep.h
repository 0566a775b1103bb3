// SPDX-License-Identifier: Apache-2.0
// A Sweep runs the programs of many seeds, on one thread or several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/simulation/generator.h"
#include "test/simulation/job.h"

namespace hvd::simulation {

struct SweepOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t count = 1;
  Limits limits = {};
  int threads = 1;
  std::size_t most_failures = 20;  // Stops at this many.
};

struct Failed {
  std::uint64_t seed = 0;
  std::uint64_t actions = 0;  // The size of the program.
  std::string fault;          // The first.
};

struct SweepResult {
  Statistics statistics;
  std::vector<Failed> failures;  // The smallest programs first.
};

SweepResult sweep(const SweepOptions& options);

// The command line that traces the program of `seed`.
std::string replay_command(std::uint64_t seed, const Limits& limits);

}  // namespace hvd::simulation
