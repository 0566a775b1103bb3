// SPDX-License-Identifier: Apache-2.0
// A job of three ranks whose every event the test chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::simulation {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// A WatchedBoard records the reads of a rank's board. The state of the rank's
// Coordinator depends only on that and on the rank's inputs.
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

  // The hash of the answers since the last call; 0: none.
  std::uint64_t take_noted() { return std::exchange(noted_, 0); }

 private:
  template <typename T>
  T note(T value) {
    noted_ = mix(noted_ + 1, static_cast<std::uint64_t>(value));
    return value;
  }

  coordinator::SharedBoard board_;
  std::uint64_t noted_ = 0;
};

constexpr int kRanks = 3;
constexpr int kTensors = 3;

struct Act {
  enum class Kind : std::uint8_t { kSubmit, kWait, kJoin, kDie };
  Kind kind = Kind::kSubmit;
  int tensor = 0;
};
using RankScript = std::vector<Act>;

struct Scenario {
  std::vector<std::vector<int>> nodes;
  int steps_before_schedule = 0;
  // Whole steps before the one whose orders are explored.
  int warm_up = 1;
  std::vector<RankScript> scripts;  // By rank.
};

// A possible next event.
struct Choice {
  enum class Kind : std::uint8_t { kCaller, kMail, kLook, kNotice };
  Kind kind = Kind::kCaller;
  int rank = 0;
  int from = 0;  // Of mail.
};

struct alignas(128) MemoryLine {
  std::byte bytes[128] = {};
};

// A SmallJob is three ranks whose every event the test chooses:
// - a caller makes the next action of its script
// - the oldest message between two ranks is delivered
// - a rank looks because it was rung or its batch is complete
// - a rank learns of a death
// After an event the rank takes one whole turn, like a Runtime's thread.
class SmallJob {
 public:
  explicit SmallJob(const Scenario& scenario);

  std::vector<Choice> choices() const;
  void take(const Choice& choice);
  std::uint64_t state() const;
  // The history of each rank, as far as it distinguishes states. Not recorded
  // while `remembers` is false: then call set_histories().
  using Histories = std::vector<std::uint64_t>;
  Histories histories() const;
  void set_histories(const Histories& histories);
  bool remembers = false;
  // The fault of an ended job, if any.
  std::string verdict() const;
  // Whether the job was ever in mode 0.
  bool was_in_cycle() const { return was_in_cycle_; }

 private:
  enum class State { kRunning, kBroken, kDead };
  struct Rank {
    std::unique_ptr<WatchedBoard> board;
    std::unique_ptr<coordinator::Coordinator> coordinator;
    int node = 0;
    std::size_t next = 0;  // In its script.
    std::optional<coordinator::Key> waits_for;
    std::set<std::string> in_flight;
    bool rung = false;
    bool told_of_death = false;
    State state = State::kRunning;
    std::optional<coordinator::Batch> batch;
    std::uint64_t history = 1;
  };
  using Place = std::pair<std::uint32_t, std::uint64_t>;
  struct Meeting {
    int entered = 0;
    int abandoned = 0;
    std::string names;
  };

  Rank& rank(int index) { return ranks_[static_cast<std::size_t>(index)]; }
  const Rank& rank(int index) const {
    return ranks_[static_cast<std::size_t>(index)];
  }
  std::uint64_t hash_of_board(int node) const;
  bool is_complete(const Rank& mine) const;
  void happen(const Choice& choice);
  void act(int index);
  void submit(int index, const coordinator::Request& request);
  void turn(int index);
  void execute(int index);
  void break_rank(int index);
  void settle();
  void fault(const std::string& text) {
    if (fault_.empty()) fault_ = text;
  }

  std::vector<RankScript> scripts_;
  ManualClock clock_;
  std::shared_ptr<const coordinator::Tree> tree_;
  std::deque<std::vector<MemoryLine>> memory_;
  std::deque<Rank> ranks_;
  std::map<std::pair<int, int>, std::deque<std::string>> wires_;
  std::map<Place, Meeting> meetings_;
  bool rank_died_ = false;
  bool was_in_cycle_ = false;
  std::string fault_;
};

}  // namespace hvd::simulation
