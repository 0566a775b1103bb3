// SPDX-License-Identifier: Apache-2.0
// ScheduleQueue holds the root's decisions that are not yet scheduled:
// operations to run and other records. It cuts the operations into batches on
// output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "horovodpp/coordinator/protocol/cycle.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/root/fusion_planner.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

class ScheduleQueue {
 public:
  // `hold_back`: longest time that a batch below the threshold is held back.
  ScheduleQueue(const FusionOptions& fusion, Clock::Duration hold_back)
      : fusion_(fusion), hold_back_(hold_back) {}

  void push(const Record& record) { queue_.push_back({.record = record}); }
  void push_front(const Record& record) {
    queue_.push_front({.record = record});
  }
  void push_run(std::uint32_t id, RequestPtr request, int participants);
  bool empty() const { return queue_.empty(); }

  // The next records, in whole batches; at most kMaxAppend. Returns runs only
  // if `is_idle`, so that batches form while earlier ones execute. Fusion does
  // not cross other records.
  std::vector<Record> cut(Clock::TimePoint now, bool is_idle);
  // When cut() will release a batch that it holds back, if any.
  std::optional<Clock::TimePoint> held_until() const {
    if (!waiting_since_) return std::nullopt;
    return *waiting_since_ + hold_back_;
  }

  // If the queue holds only runs of operations in `cycle`, drops them and
  // returns true.
  bool drop_all_of(const Cycle& cycle);

 private:
  struct Queued {
    Record record = {};
    RequestPtr request = {};  // Runs only.
    int participants = 0;
    bool is_run() const { return record.kind == RecordKind::kRun; }
  };

  std::size_t leading_runs() const;
  std::vector<Record> cut_runs(std::size_t runs);

  const FusionOptions fusion_;
  const Clock::Duration hold_back_;
  std::deque<Queued> queue_;
  std::size_t bytes_ = 0;  // Of its runs.
  std::optional<Clock::TimePoint> waiting_since_;
};

}  // namespace hvd::coordinator
