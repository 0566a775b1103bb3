// SPDX-License-Identifier: Apache-2.0
// What the agreement of many ranks costs under the LogGP model (Alexandrov,
// Ionescu, Schauser and Scheiman, SPAA 1995): the real Coordinators run on a
// network on which a message takes the sender o, then L and G for each byte,
// then the receiver o, and a sender waits g between two messages. On a node,
// what is written to the board or mailed is seen after a fixed time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace hvd::simulation {

struct LogGP {
  double latency_us = 1.3;        // L
  double overhead_us = 0.4;       // o
  double gap_us = 0.3;            // g
  double gigabytes_per_s = 12.5;  // 1 / G
  double node_us = 0.12;          // From rank to rank of a node.
};

struct CostOptions {
  int ranks = 8;
  int ranks_per_node = 8;
  int tensors = 1;
  // Mode 0: the order is published, after as many equal steps; 0: mode 1.
  int steps_before_schedule = 0;
  // Every rank keeps its own copy of what was agreed on, as processes do;
  // else the job keeps one.
  bool own_requests = false;
  LogGP network = {};
};

struct StepCost {
  std::uint64_t messages = 0;  // Between nodes,
  std::uint64_t bytes = 0;     // and their bytes.
  std::uint64_t node_messages = 0;
  // From the last submission of the step until the last rank was told to execute
  // the last of it.
  double us_after_last_arrival = 0;
  // What a rank keeps, on average over all ranks, leaders included;
  // the boards are counted for themselves, by rank.
  double state_bytes_per_rank = 0;
  double board_bytes_per_rank = 0;
  bool in_cycle = false;  // It was executed in mode 0.
};

// Runs steps until they are steady and measures one. nullopt if something went
// wrong, which is told to stderr.
std::optional<StepCost> measure_step(const CostOptions& options);

// Bytes allocated by operator new and not freed. Counted by the program itself.
std::size_t live_bytes();

}  // namespace hvd::simulation
