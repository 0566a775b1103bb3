// SPDX-License-Identifier: Apache-2.0
// The RankProtocol of rank 1 of two ranks on one node. The test plays all
// others: the root that defines and schedules, the leader that reads the board,
// and rank 0 that marks it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/protocol/cycle.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/coordinator/rank_protocol.h"
#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {

class RankProtocolTest : public ::testing::Test {
 protected:
  static constexpr int kRank = 1;
  static constexpr std::uint32_t kSlots = 4;
  static constexpr std::uint64_t kBoth = 0b11;

  RankProtocolTest()
      : memory_(SharedBoard::bytes_needed(kSlots) / sizeof(Block) + 1),
        leader_(std::as_writable_bytes(std::span(memory_)), 0, 2, kSlots),
        board_(std::as_writable_bytes(std::span(memory_)), 1, 2, kSlots) {
    start({});
  }

  void start(RankProtocol::Options options) {
    options.rank = kRank;
    options.tree =
        std::make_shared<const Tree>(std::vector<std::vector<int>>{{0, kRank}});
    ProcessSets sets(options.tree->all_ranks());
    sets.add(1, {kRank});
    sets.add(2, {0});
    protocol_.emplace(options, sets, board_);
  }

  static Request allreduce(const std::string& name,
                           ProcessSetId set = kGlobalSet) {
    Request request = sample_allreduce(name);
    request.key.process_set = set;
    return request;
  }
  static Key key(const std::string& name, ProcessSetId set = kGlobalSet) {
    return {set, name};
  }

  void submit(const Request& request) { protocol_->submit(request, now_); }

  // The messages to the leader.
  std::vector<Message> said() { return protocol_->take_messages(); }
  template <typename M>
  M only_said() {
    const std::vector<Message> messages = said();
    if (messages.size() != 1 || !std::holds_alternative<M>(messages[0])) {
      ADD_FAILURE() << "did not say one thing, of that type";
      return M();
    }
    return std::get<M>(messages[0]);
  }

  void define(std::uint32_t id, const Request& request,
              std::uint32_t slot = kNoSlot, std::uint32_t result = 0) {
    ASSERT_EQ(protocol_->define(
                  {.id = id,
                   .slot = slot,
                   .participants = 2,
                   .result = result,
                   .request = std::make_shared<const Request>(request)}),
              absl::OkStatus());
  }
  void schedule(const std::vector<Record>& records) {
    ASSERT_TRUE(leader_.append(records));
  }
  void schedule(RecordKind kind, std::uint32_t id, std::uint64_t value = 0) {
    schedule({{.kind = kind, .id = id, .value = value}});
  }
  void schedule_run(std::uint32_t id) { schedule(RecordKind::kRun, id); }
  // Schedules a cycle with a batch for each id, or one batch if `fused`.
  void schedule_cycle(std::uint32_t run, const std::vector<std::uint32_t>& ids,
                      bool fused = false) {
    Cycle cycle;
    std::vector<Record> records;
    for (const std::uint32_t id : ids) {
      const bool ends = !fused || id == ids.back();
      cycle.add(id, ends);
      records.push_back({.kind = RecordKind::kCycle,
                         .id = id,
                         .value = ends,
                         .ends_batch = false});
    }
    records.push_back(
        {.kind = RecordKind::kStartCycle, .id = run, .value = cycle.hash()});
    schedule(records);
  }

  // Takes the next batch, which stays in execution; nullopt if there is none.
  std::optional<Batch> begin() {
    auto batch = protocol_->next_batch();
    EXPECT_EQ(batch.status(), absl::OkStatus());
    if (!batch.ok() || *batch == nullptr) return std::nullopt;
    return **batch;
  }
  // Executes all available batches; returns their names in order.
  std::vector<std::string> execute() {
    std::vector<std::string> names;
    while (const auto batch = begin()) {
      for (const Batch::Entry& entry : batch->entries) {
        names.push_back(entry.agreed->key.name);
      }
      protocol_->finished();
    }
    return names;
  }

  // Defines `name` as `id` in `slot` by a first execution.
  void make_known(std::uint32_t id, const std::string& name, std::uint32_t slot,
                  ProcessSetId set = kGlobalSet) {
    submit(allreduce(name, set));
    said();
    define(id, allreduce(name, set), slot);
    schedule_run(id);
    ASSERT_EQ(execute(), std::vector<std::string>{name});
  }

  std::vector<std::pair<Key, absl::StatusCode>> failures() {
    std::vector<std::pair<Key, absl::StatusCode>> failures;
    for (const Failure& failure : protocol_->take_failures()) {
      failures.emplace_back(failure.key, failure.why.code());
    }
    return failures;
  }

  struct alignas(128) Block {
    std::byte bytes[128] = {};
  };
  std::vector<Block> memory_;
  SharedBoard leader_;  // The board as rank 0 sees it.
  SharedBoard board_;
  std::optional<RankProtocol> protocol_;
  Clock::TimePoint now_{};
};

}  // namespace hvd::coordinator
