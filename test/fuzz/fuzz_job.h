// SPDX-License-Identifier: Apache-2.0
// A FuzzJob is the coordinators of a small job on three nodes, which submit,
// exchange mail and execute. It plays the executor, too: a batch finishes only
// after all its members have begun it.
//
// As long as all input is possible in a real job, no coordinator may report an
// error. Afterwards it may, and then leaves the job. A coordinator must never
// crash, and its output must always be well formed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/protocol/node_board.h"

namespace hvd::coordinator {

class FuzzJob {
 public:
  static constexpr int kRanks = 5;

  explicit FuzzJob(std::uint32_t slots) {
    const std::vector<std::vector<int>> nodes = {{0, 1}, {2, 3}, {4}};
    const auto tree = std::make_shared<const Tree>(nodes);
    const std::size_t bytes = SharedBoard::bytes_needed(slots, kMaxAppend);
    for (const std::vector<int>& node : nodes) {
      memory_.emplace_back(bytes / sizeof(Block) + 1);
      for (std::size_t i = 0; i < node.size(); ++i) {
        Rank& rank = ranks_.emplace_back();
        rank.board = std::make_unique<SharedBoard>(
            std::as_writable_bytes(std::span(memory_.back())),
            static_cast<int>(i), static_cast<int>(node.size()), slots,
            kMaxAppend);
        rank.coordinator = std::make_unique<Coordinator>(
            Coordinator::Options{.rank = node[i],
                                 .tree = tree,
                                 .epoch = kEpoch,
                                 .process_sets = {{0, 2, 4}, {3}},
                                 .cache_capacity = slots,
                                 .fusion_threshold = 256,
                                 .steps_before_schedule = 2,
                                 .stall_warning = std::chrono::seconds(1),
                                 .stall_shutdown = {},
                                 .describe = {},
                                 .explain_silence = {}},
            *rank.board, clock);
      }
    }
  }

  bool is_out(int rank) const { return at(rank).is_out; }

  // A rank from which `to` gets messages of this kind; nullopt: none.
  std::optional<int> sender_of(const Message& message, int to,
                               unsigned which) const {
    static const std::vector<int> kFromBelow[kRanks] = {
        {1, 2, 4}, {}, {3}, {}, {}};
    static constexpr int kAbove[kRanks] = {Tree::kNone, 0, 0, 2, 0};
    if (direction_of(message) == Direction::kUp) {
      const std::vector<int>& senders = kFromBelow[to];
      if (senders.empty()) return std::nullopt;
      return senders[which % senders.size()];
    }
    if (kAbove[to] == Tree::kNone) return std::nullopt;
    return kAbove[to];
  }

  void submit(int rank, const Request& request) {
    Rank& mine = at(rank);
    if (mine.is_out || mine.has_left) return;
    if (!mine.in_flight.insert(request.key).second) return;
    mine.coordinator->submit(request);
    take_failures(mine);
  }
  void wait_for(int rank, const Key& key) {
    if (!is_out(rank)) at(rank).coordinator->wait_for(key);
  }
  void leave(int rank) {
    Rank& mine = at(rank);
    if (mine.is_out || std::exchange(mine.has_left, true)) return;
    mine.coordinator->leave();
  }

  // Lets a rank decide, send, and begin its next batch.
  void move(int rank) {
    Rank& mine = at(rank);
    if (mine.is_out) return;
    accept(rank, mine.coordinator->step());
    for (Outgoing& mail : mine.coordinator->take_outgoing()) {
      wire(rank, mail.to).push_back(std::move(mail.bytes));
    }
    mine.coordinator->take_bells();
    mine.coordinator->take_warnings();
    if (!mine.is_out && !mine.executing) begin(rank);
  }

  // Lets a rank end its batch if that is possible.
  void finish(int rank) {
    Rank& mine = at(rank);
    if (mine.is_out || !mine.executing) return;
    if (mine.coordinator->should_abandon()) {
      mine.executing.reset();
      return mine.coordinator->abandoned();
    }
    const Execution& execution = *mine.executing;
    if (is_lawful_ && !all_have_begun(execution)) return;
    for (const Batch::Entry& entry : execution.batch.entries) {
      mine.in_flight.erase(entry.agreed->key);
    }
    mine.executing.reset();
    mine.coordinator->finished();
  }
  // Delivers the oldest mail of a wire.
  void deliver(int from, int to) {
    std::deque<std::string>& mail = wire(from, to);
    if (mail.empty()) return;
    const std::string bytes = std::move(mail.front());
    mail.pop_front();
    receive(from, to, bytes);
  }
  void deliver_everything() {
    for (int from = 0; from < kRanks; ++from) {
      for (int to = 0; to < kRanks; ++to) {
        while (!wire(from, to).empty()) deliver(from, to);
      }
    }
  }

  // Delivers a message that no rank sent.
  void inject(int from, int to, const Message& message) {
    inject(from, to, encode(kEpoch, message));
  }
  void inject(int from, int to, const std::string& bytes) {
    is_lawful_ = false;
    receive(from, to, bytes);
  }

  // The mail in flight, to be damaged by the caller.
  std::deque<std::string>& damaged_wire(int from, int to) {
    is_lawful_ = false;
    return wire(from, to);
  }

  ManualClock clock;

 private:
  static constexpr std::uint32_t kEpoch = 7;

  struct alignas(128) Block {
    std::byte bytes[128] = {};
  };
  struct Execution {
    Batch batch;
    std::vector<int> members;
  };
  struct Rank {
    std::unique_ptr<SharedBoard> board;
    std::unique_ptr<Coordinator> coordinator;
    std::set<Key> in_flight;
    std::optional<Execution> executing;
    bool has_left = false;
    bool is_out = false;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& at(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)];
  }

  std::deque<std::string>& wire(int from, int to) {
    return wires_[static_cast<std::size_t>(from * kRanks + to)];
  }

  static void require(bool condition) {
    if (!condition) __builtin_trap();
  }

  void receive(int from, int to, const std::string& bytes) {
    if (is_out(to)) return;
    const absl::Status status = at(to).coordinator->receive(from, bytes);
    // The error names the sender of the mail. A Break has its own text.
    require(status.ok() || absl::IsAborted(status) ||
            absl::StartsWith(status.message(),
                             absl::StrCat("mail from rank ", from, ": ")));
    accept(to, status);
  }

  // A rank leaves the job with its first error.
  void accept(int rank, const absl::Status& status) {
    if (status.ok()) return;
    require(!is_lawful_);
    at(rank).is_out = true;
    at(rank).coordinator->break_mail(status);
  }

  void take_failures(Rank& rank) {
    for (const Failure& failure : rank.coordinator->take_failures()) {
      require(!failure.why.ok());
      require(rank.in_flight.erase(failure.key) == 1 || !is_lawful_);
    }
  }

  void begin(int rank) {
    Rank& mine = at(rank);
    auto batch = mine.coordinator->next_batch();
    accept(rank, batch.status());
    take_failures(mine);
    if (!batch.ok() || *batch == nullptr) return;
    require(!(*batch)->entries.empty());
    require((*batch)->participants >= 0 && (*batch)->participants <= kRanks);
    for (const Batch::Entry& entry : (*batch)->entries) {
      require(entry.agreed != nullptr);
    }
    const ProcessSetId set = (*batch)->request().key.process_set;
    const auto members = mine.coordinator->process_sets().ranks(set);
    mine.executing = {**batch,
                      members == nullptr ? std::vector<int>() : *members};
    begun_[{(*batch)->epoch, (*batch)->sequence}].insert(rank);
  }

  bool all_have_begun(const Execution& execution) {
    const auto& begun =
        begun_[{execution.batch.epoch, execution.batch.sequence}];
    return std::all_of(execution.members.begin(), execution.members.end(),
                       [&](int member) { return begun.contains(member); });
  }

  std::deque<std::vector<Block>> memory_;
  std::deque<Rank> ranks_;
  std::array<std::deque<std::string>, kRanks * kRanks> wires_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<int>> begun_;
  bool is_lawful_ = true;
};

}  // namespace hvd::coordinator
