// SPDX-License-Identifier: Apache-2.0
// A WatchedBoard records what a rank's board told it. The state of the rank's
// Coordinator depends only on that and on the rank's inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/node_board.h"

namespace hvd::simulation {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

class WatchedBoard : public coordinator::NodeBoard {
 public:
  WatchedBoard(std::span<std::byte> region, int local_rank, int local_size,
               std::uint32_t slots, std::uint32_t length)
      : board_(region, local_rank, local_size, slots, length) {}

  bool arrive(std::uint32_t slot, std::uint32_t id,
              std::uint64_t members) override {
    return note(board_.arrive(slot, id, members));
  }
  void withdraw(std::uint32_t slot) override { board_.withdraw(slot); }
  std::optional<std::uint32_t> next_completed() override {
    const auto id = board_.next_completed();
    if (id) note(2 + *id);
    return id;
  }
  bool append(std::span<const coordinator::Record> records) override {
    return note(board_.append(records));
  }
  std::vector<coordinator::Record> next_batch() override {
    auto records = board_.next_batch();
    for (const auto& record : records) {
      note(static_cast<std::uint64_t>(record.kind));
      note(record.id);
      note(record.value);
    }
    return records;
  }
  std::optional<coordinator::Record> next_record() override {
    const auto record = board_.next_record();
    if (record) {
      note(static_cast<std::uint64_t>(record->kind));
      note(record->id);
      note(record->value);
    }
    return record;
  }
  bool advance() override { return note(board_.advance()); }

  // The hash of what was told since the last call; 0: nothing.
  std::uint64_t take_noted() { return std::exchange(noted_, 0); }

 private:
  template <typename T>
  T note(T what) {
    noted_ = mix(noted_ + 1, static_cast<std::uint64_t>(what));
    return what;
  }

  coordinator::SharedBoard board_;
  std::uint64_t noted_ = 0;
};

}  // namespace hvd::simulation
