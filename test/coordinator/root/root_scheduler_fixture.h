// SPDX-License-Identifier: Apache-2.0
// A RootScheduler that receives the messages of all ranks from the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/root/root_scheduler.h"
#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {

inline constexpr std::uint32_t kRanks = 4;

inline Request allreduce(const std::string& name,
                         ProcessSetId set = kGlobalSet) {
  Request request = sample_allreduce(name);
  request.key.process_set = set;
  return request;
}

// The scheduler of four ranks; ranks 0 and 2 form process set 1.
class RootSchedulerTest : public ::testing::Test {
 protected:
  void start(const RootScheduler::Options& options) {
    auto all =
        std::make_shared<const std::vector<int>>(std::vector<int>{0, 1, 2, 3});
    ProcessSets sets(std::move(all));
    sets.add(1, {0, 2});
    scheduler_.emplace(options, sets);
  }
  void SetUp() override { start({.capacity = 4}); }

  void hear(Message message) {
    ASSERT_EQ(scheduler_->receive(std::move(message)), absl::OkStatus());
  }
  void propose(const Request& request) {
    hear({Propose{.request = shared(request),
                  .count = request.key.process_set == 1 ? 2 : kRanks}});
  }
  // The definition of a request that all ranks propose.
  Define define(const Request& request) {
    propose(request);
    return announced<Define>();
  }
  // The rejection of a request that all ranks propose.
  Reject refused(const Propose& message) {
    hear(message);
    const Reject reject = announced<Reject>();
    EXPECT_THAT(records(),
                ::testing::ElementsAre(
                    Record{.kind = RecordKind::kReject, .id = reject.number}));
    return reject;
  }
  template <typename M>
  M announced() {
    const std::vector<Message> messages = scheduler_->take_announcements();
    if (messages.size() != 1 || !std::holds_alternative<M>(messages[0])) {
      ADD_FAILURE() << "not one announcement, of that type";
      return M();
    }
    return std::get<M>(messages[0]);
  }

  // All new records of the schedule.
  std::vector<Record> records() {
    std::vector<Record> all;
    while (true) {
      const std::vector<Record> more = scheduler_->cut(now_, true);
      if (more.empty()) return all;
      all.insert(all.end(), more.begin(), more.end());
      if (more.back().kind == RecordKind::kStartCycle) return all;
    }
  }
  std::vector<RecordKind> kinds() {
    std::vector<RecordKind> kinds;
    for (const Record& record : records()) kinds.push_back(record.kind);
    return kinds;
  }

  // Repeats a step of two operations until it is a cycle; returns the cycle's
  // number.
  std::uint32_t reach_cycle(std::uint32_t a, std::uint32_t b) {
    for (int step = 0; step < 10; ++step) {
      hear(Ready{{a, b}});
      const std::vector<Record> next = records();
      if (!next.empty() && next.back().kind == RecordKind::kStartCycle) {
        return next.back().id;
      }
    }
    ADD_FAILURE() << "no cycle began";
    return 0;
  }

  static Record run_of(std::uint32_t id, bool ends_batch = true) {
    return {.kind = RecordKind::kRun, .id = id, .ends_batch = ends_batch};
  }

  std::optional<RootScheduler> scheduler_;
  Clock::TimePoint now_{};
};

}  // namespace hvd::coordinator
