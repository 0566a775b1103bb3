// SPDX-License-Identifier: Apache-2.0
// A simulated job: a Coordinator for each rank, driven as by a Runtime, with a
// network and boards in memory and virtual time. The order of events depends
// only on the program's seed, so that every run can be repeated.
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
  std::uint64_t cycled = 0;     // Of these, in a published schedule.
  std::uint64_t early = 0;      // Entered before every rank had submitted.
  std::uint64_t abandoned = 0;  // By each rank.
  std::uint64_t absent = 0;     // Entries in which a joined rank took part.
  std::uint64_t done = 0;       // Submissions by outcome.
  std::uint64_t mismatches = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t refused = 0;
  std::uint64_t broken = 0;
  std::uint64_t warnings = 0;
  std::uint64_t measured = 0;  // By the tuner.
  std::uint64_t most_epochs = 0;

  Statistics& operator+=(const Statistics& other);
  std::string describe() const;
};

struct Report {
  // Violations of the protocol; empty: none.
  std::vector<std::string> faults;
  Statistics statistics;
};

// Runs `program` to its end. `trace`: writes every event to stderr.
Report run(const Program& program, bool trace = false);

}  // namespace hvd::simulation
