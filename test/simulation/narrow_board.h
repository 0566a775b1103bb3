// SPDX-License-Identifier: Apache-2.0
// A NarrowBoard is a board with little room in its schedule, so that leaders
// wait for slow readers also in short programs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/node_board.h"

namespace hvd::simulation {

// Shared by a node's ranks besides the board. Leaders append nothing while a
// rank has more than `most_unread` unread records.
struct Room {
  std::uint64_t most_unread = 0;
  std::uint64_t written = 0;
  std::vector<std::uint64_t> read;  // By local rank.
  bool is_wanted = false;
};

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

}  // namespace hvd::simulation
