// SPDX-License-Identifier: Apache-2.0
// The state that a simulated job keeps for each rank.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/coordinator.h"
#include "test/simulation/callers.h"
#include "test/simulation/meeting.h"
#include "test/simulation/narrow_board.h"

namespace hvd::simulation {

struct SimulatedRank {
  SimulatedRank(const Program& program, int rank) : callers(program, rank) {}

  std::unique_ptr<NarrowBoard> board;
  std::unique_ptr<coordinator::Coordinator> coordinator;
  Callers callers;
  int node = 0;

  std::deque<std::pair<int, std::string>> inbox;
  // The rank's turn: whether one runs or is about to, whether another must
  // follow, and the number so far.
  bool has_turn = false;
  bool again = false;
  bool moved = false;
  int turns = 0;
  std::optional<Clock::TimePoint> wakes_at;

  std::optional<coordinator::Batch> batch;  // In execution.
  Meeting* meeting = nullptr;
  std::uint32_t batches = 0;  // Entered so far.
  bool will_observe = false;  // Will notice that the batch is complete;
  bool observed = false;      // has noticed.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> last_batch;

  enum class State { kRunning, kClosed, kBroken, kDead };
  State state = State::kRunning;
  bool is_running() const { return state == State::kRunning; }
  std::string why;  // Why it is broken.
};

}  // namespace hvd::simulation
