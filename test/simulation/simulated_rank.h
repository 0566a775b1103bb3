// SPDX-License-Identifier: Apache-2.0
// What a simulated job keeps of each of its ranks.
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
  // Its turn: whether one is under way or about to be, whether another has to
  // follow it, and how many there were.
  bool has_turn = false;
  bool again = false;
  bool moved = false;
  int turns = 0;
  std::optional<Clock::TimePoint> wakes_at;

  std::optional<coordinator::Batch> batch;  // That it executes.
  Meeting* meeting = nullptr;
  std::uint32_t batches = 0;  // Entered so far.
  bool will_observe = false;  // That the batch is complete: soon,
  bool observed = false;      // or by now.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> last_batch;

  enum class State { kRunning, kClosed, kBroken, kDead };
  State state = State::kRunning;
  bool is_running() const { return state == State::kRunning; }
  std::string why;  // Broken.
};

}  // namespace hvd::simulation
