// SPDX-License-Identifier: Apache-2.0
// The cost of negotiation between many ranks under the LogGP model (Alexandrov,
// Ionescu, Schauser and Scheiman, SPAA 1995). The real Coordinators run on a
// modeled network. A message takes the sender o, then L and G for each byte,
// then the receiver o. A sender waits g between two messages. On a node, board
// writes and mail become visible after a fixed time.
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
  // Equal steps until the order is published (mode 0); 0: never (mode 1).
  int steps_before_schedule = 0;
  // Every rank keeps its own copy of agreed requests, like processes; otherwise
  // the job keeps one copy.
  bool own_requests = false;
  LogGP network = {};
};

struct StepCost {
  std::uint64_t messages = 0;  // Between nodes.
  std::uint64_t bytes = 0;     // Of these messages.
  std::uint64_t node_messages = 0;
  // From the step's last submission until the last rank may execute the last
  // operation.
  double us_after_last_arrival = 0;
  // A rank's state, averaged over all ranks, leaders included. Boards are
  // counted separately, per rank.
  double state_bytes_per_rank = 0;
  double board_bytes_per_rank = 0;
  bool in_cycle = false;  // The step ran in mode 0.
};

// Runs steps until they are steady, and measures one. Returns nullopt on an
// error, which goes to stderr.
std::optional<StepCost> measure_step(const CostOptions& options);

// Bytes allocated by operator new and not freed. The program defines this
// function.
std::size_t live_bytes();

}  // namespace hvd::simulation
