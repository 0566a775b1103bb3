// SPDX-License-Identifier: Apache-2.0
// A job in simulation: a Coordinator for each rank, run as a Runtime runs it,
// on a network and on boards that exist in memory only, in virtual time. What
// comes when is a matter of the program's seed alone, so that every run can be
// repeated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/simulation/program.h"

namespace hvd::simulation {

struct Statistics {
  std::uint64_t jobs = 0;
  std::uint64_t events = 0;
  std::uint64_t mail = 0;
  std::uint64_t batches = 0;    // Finished, by each rank.
  std::uint64_t cycled = 0;     // Of those, in a published schedule.
  std::uint64_t early = 0;      // Entered before every rank had submitted.
  std::uint64_t abandoned = 0;  // By each rank.
  std::uint64_t absent = 0;     // Entries that a joined rank took part in.
  std::uint64_t done = 0;       // Submissions by their outcome.
  std::uint64_t mismatches = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t refused = 0;
  std::uint64_t broken = 0;
  std::uint64_t warnings = 0;
  std::uint64_t most_epochs = 0;

  Statistics& operator+=(const Statistics& other);
  std::string describe() const;
};

struct Report {
  // What was not as it has to be; empty: nothing.
  std::vector<std::string> faults;
  Statistics statistics;
};

// Runs `program` to its end. `trace`: writes every event to stderr.
Report run(const Program& program, bool trace = false);

}  // namespace hvd::simulation
