// SPDX-License-Identifier: Apache-2.0
// The state that a simulated job keeps for each rank, and its text in a trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/core/thread/clock.h"
#include "test/simulation/callers.h"
#include "test/simulation/meeting.h"

namespace hvd::simulation {

// Shared by a node's ranks besides the board. Leaders append nothing while a
// rank has more than `most_unread` unread records.
struct Room {
  std::uint64_t most_unread = 0;
  std::uint64_t written = 0;
  std::vector<std::uint64_t> read;  // By local rank.
  bool is_wanted = false;
};

// A NarrowBoard is a board with little room in its schedule, so that leaders
// wait for slow readers also in short programs.
class NarrowBoard : public coordinator::NodeBoard {
 public:
  NarrowBoard(std::span<std::byte> region, int local_rank, Room& room,
              std::uint32_t slots)
      : board_(region, local_rank, static_cast<int>(room.read.size()), slots,
               static_cast<std::uint32_t>(coordinator::kMaxAppend)),
        room_(room),
        read_(room.read[static_cast<std::size_t>(local_rank)]) {}

  bool arrive(std::uint32_t slot, std::uint32_t id,
              std::uint64_t members) override {
    return board_.arrive(slot, id, members);
  }
  void withdraw(std::uint32_t slot) override { board_.withdraw(slot); }
  std::optional<std::uint32_t> next_completed() override {
    return board_.next_completed();
  }
  bool append(std::span<const coordinator::Record> records) override {
    const std::uint64_t slowest =
        *std::min_element(room_.read.begin(), room_.read.end());
    room_.is_wanted = room_.written - slowest > room_.most_unread;
    if (room_.is_wanted || !board_.append(records)) return false;
    room_.written += records.size();
    return true;
  }
  std::vector<coordinator::Record> next_batch() override {
    auto records = board_.next_batch();
    given_out_ = records.size();
    return records;
  }
  std::optional<coordinator::Record> next_record() override {
    return board_.next_record();
  }
  bool advance() override {
    read_ += std::exchange(given_out_, 0);
    return board_.advance() || room_.is_wanted;
  }

 private:
  coordinator::SharedBoard board_;
  Room& room_;
  std::uint64_t& read_;
  std::size_t given_out_ = 0;
};

// The state that a simulated job keeps for each rank.
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
  Clock::TimePoint entered_at = {};
  absl::flat_hash_map<int, Clock::TimePoint> submitted_at;  // By item.
  std::uint32_t batches = 0;                                // Entered so far.
  bool will_observe = false;  // Will notice that the batch is complete;
  bool observed = false;      // has noticed.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> last_batch;

  enum class State { kRunning, kClosed, kBroken, kDead };
  State state = State::kRunning;
  bool is_running() const { return state == State::kRunning; }
  std::string why;  // Why it is broken.
};

// For the trace: the content of a letter.
std::string describe_mail(std::string_view letter);

// The state of a rank.
std::string describe_rank(int index, const SimulatedRank& rank);

}  // namespace hvd::simulation
