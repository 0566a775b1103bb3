// SPDX-License-Identifier: Apache-2.0
// A Cluster holds only the coordinators of a job: their boards lie in plain
// memory, their mail in queues. A test decides which rank moves when, so that
// it can produce and repeat every interleaving.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/protocol/node_board.h"

namespace hvd::coordinator {

struct ClusterOptions {
  int size = 2;
  int ranks_per_node = 64;
  std::uint32_t cache_capacity = 16;
  std::size_t fusion_threshold = 1 << 20;
  Clock::Duration hold_back{0};
  // Zero: repeated steps never become cycles.
  int steps_before_schedule = 0;
  Clock::Duration stall_warning{0};
  Clock::Duration stall_shutdown{0};
  std::vector<std::vector<int>> process_sets = {};
  // Steps of the tuner's measurements; 0: there is no tuner.
  int tuning_steps = 0;

  friend void PrintTo(const ClusterOptions& options, std::ostream* out) {
    *out << options.size << " ranks, " << options.ranks_per_node << " per node";
  }
};

class Cluster {
 public:
  struct Rank {
    std::unique_ptr<SharedBoard> board;
    std::unique_ptr<Coordinator> coordinator;
    std::vector<std::vector<std::string>> batches;  // Executed, in order.
    std::vector<Batch> executed;
    std::map<Key, absl::Status> failures;
    int mail_sent = 0;
  };

  explicit Cluster(const ClusterOptions& options) : options_(options) {
    std::vector<std::vector<int>> nodes;
    for (int rank = 0; rank < options.size; ++rank) {
      if (rank % options.ranks_per_node == 0) nodes.emplace_back();
      nodes.back().push_back(rank);
    }
    const auto tree = std::make_shared<const Tree>(std::move(nodes));
    const std::size_t bytes = SharedBoard::bytes_needed(options.cache_capacity);
    for (int rank = 0; rank < options.size; ++rank) {
      const int leader = rank - rank % options.ranks_per_node;
      if (leader == rank) memory_.emplace_back(bytes / sizeof(Block) + 1);
      Rank& mine = ranks_.emplace_back();
      mine.board = std::make_unique<SharedBoard>(
          std::as_writable_bytes(std::span(memory_.back())), rank - leader,
          std::min(options.ranks_per_node, options.size - leader),
          options.cache_capacity);
      mine.coordinator = std::make_unique<Coordinator>(
          Coordinator::Options{
              .rank = rank,
              .tree = tree,
              .epoch = 7,
              .process_sets = options.process_sets,
              .cache_capacity = options.cache_capacity,
              .fusion_threshold = options.fusion_threshold,
              .hold_back = options.hold_back,
              .steps_before_schedule = options.steps_before_schedule,
              .stall_warning = options.stall_warning,
              .stall_shutdown = options.stall_shutdown,
              .tuning_steps = options.tuning_steps,
              .seconds_per_tick = [] { return 1e-6; }},
          *mine.board, clock);
    }
  }

  Rank& operator[](int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  int size() const { return options_.size; }

  void submit(int rank, const Request& request) {
    (*this)[rank].coordinator->submit(request);
  }
  void submit_everywhere(const Request& request) {
    for (int rank = 0; rank < size(); ++rank) submit(rank, request);
  }
  void leave(int rank) { (*this)[rank].coordinator->leave(); }

  // Lets one rank decide, send and execute. Mail for the rank stays in the
  // queues.
  bool move(int rank) {
    Rank& mine = (*this)[rank];
    EXPECT_EQ(mine.coordinator->step(), absl::OkStatus());
    bool moved = false;
    for (Outgoing& mail : mine.coordinator->take_outgoing()) {
      wires_[{rank, mail.to}].push_back(std::move(mail.bytes));
      ++mine.mail_sent;
      moved = true;
    }
    mine.coordinator->take_bells();
    while (true) {
      auto batch = mine.coordinator->next_batch();
      EXPECT_EQ(batch.status(), absl::OkStatus());
      for (const Failure& failure : mine.coordinator->take_failures()) {
        EXPECT_TRUE(mine.failures.emplace(failure.key, failure.why).second)
            << failure.key.to_string() << " failed twice";
        moved = true;
      }
      if (!batch.ok() || *batch == nullptr) {
        return moved || mine.coordinator->wants_step();
      }
      auto& names = mine.batches.emplace_back();
      for (const Batch::Entry& entry : (*batch)->entries) {
        names.push_back(entry.agreed->key.name);
      }
      mine.executed.push_back(**batch);
      if (on_batch) on_batch(rank, **batch);
      mine.coordinator->finished();
      moved = true;
    }
  }

  // Delivers the oldest message from one rank to another, if any.
  bool deliver(int from, int to) {
    const auto wire = wires_.find({from, to});
    if (wire == wires_.end() || wire->second.empty()) return false;
    std::string bytes = std::move(wire->second.front());
    wire->second.pop_front();
    EXPECT_EQ((*this)[to].coordinator->receive(from, bytes), absl::OkStatus());
    return true;
  }

  // Moves ranks and delivers mail in rank order until the job is idle.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < size(); ++rank) moved = move(rank) || moved;
      for (int from = 0; from < size(); ++from) {
        for (int to = 0; to < size(); ++to) {
          while (deliver(from, to)) moved = true;
        }
      }
    }
  }

  // Like settle(), for `events` events in random order.
  void stir(std::mt19937& random, int events) {
    const auto any_rank = [&] {
      return static_cast<int>(random() % static_cast<unsigned>(size()));
    };
    for (int i = 0; i < events; ++i) {
      if (random() % 2 == 0) {
        move(any_rank());
      } else {
        deliver(any_rank(), any_rank());
      }
    }
  }

  int mail_sent() const {
    int sum = 0;
    for (const Rank& rank : ranks_) sum += rank.mail_sent;
    return sum;
  }

  // The names that rank 0 executed, in order. Checks that all ranks executed
  // the same batches.
  std::vector<std::string> executed() {
    for (int rank = 1; rank < size(); ++rank) {
      EXPECT_EQ((*this)[rank].batches, (*this)[0].batches) << "rank " << rank;
    }
    std::vector<std::string> names;
    for (const auto& batch : (*this)[0].batches) {
      names.insert(names.end(), batch.begin(), batch.end());
    }
    return names;
  }

  ManualClock clock;
  // Called with each batch that a rank has executed.
  std::function<void(int rank, const Batch& batch)> on_batch;

 private:
  struct alignas(128) Block {
    std::byte bytes[128] = {};
  };

  ClusterOptions options_;
  std::deque<std::vector<Block>> memory_;
  std::deque<Rank> ranks_;
  std::map<std::pair<int, int>, std::deque<std::string>> wires_;
};

inline Request allreduce_of(const std::string& name, Shape shape = Shape({8})) {
  Request request;
  request.key.name = name;
  request.tensors = {{DType::kF32, std::move(shape)}};
  return request;
}

}  // namespace hvd::coordinator
