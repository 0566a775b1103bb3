// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/schedule_queue.h"

#include <algorithm>
#include <utility>

#include "horovodpp/coordinator/protocol/node_board.h"

namespace hvd::coordinator {

void ScheduleQueue::push_run(std::uint32_t id, RequestPtr request,
                             int participants) {
  bytes_ += request->bytes();
  queue_.push_back({.record = {.kind = RecordKind::kRun, .id = id},
                    .request = std::move(request),
                    .participants = participants});
}

std::size_t ScheduleQueue::leading_runs() const {
  std::size_t runs = 0;
  while (runs < queue_.size() && runs < kMaxAppend && queue_[runs].is_run()) {
    ++runs;
  }
  return runs;
}

std::vector<Record> ScheduleQueue::cut(Clock::TimePoint now, bool is_idle) {
  if (queue_.empty()) return {};
  const std::size_t runs = leading_runs();
  if (runs == 0) {
    const Record record = queue_.front().record;
    queue_.pop_front();
    return {record};
  }
  if (!is_idle) return {};
  if (!waiting_since_) waiting_since_ = now;
  if (runs == queue_.size() && bytes_ < fusion_.threshold &&
      now < *waiting_since_ + hold_back_) {
    return {};
  }
  waiting_since_.reset();
  return cut_runs(runs);
}

std::vector<Record> ScheduleQueue::cut_runs(std::size_t runs) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < runs; ++i) {
    candidates.push_back({queue_[i].request.get(), queue_[i].participants});
    bytes_ -= queue_[i].request->bytes();
  }
  std::vector<Record> records;
  for (const auto& batch : plan_fusion(candidates, fusion_)) {
    for (const std::size_t index : batch) {
      records.push_back(queue_[index].record);
      records.back().ends_batch = index == batch.back();
    }
  }
  queue_.erase(queue_.begin(),
               queue_.begin() + static_cast<std::ptrdiff_t>(runs));
  return records;
}

bool ScheduleQueue::drop_all_of(const Cycle& cycle) {
  const auto is_of_it = [&cycle](const Queued& queued) {
    return queued.is_run() && cycle.contains(queued.record.id);
  };
  if (!std::all_of(queue_.begin(), queue_.end(), is_of_it)) return false;
  queue_.clear();
  bytes_ = 0;
  waiting_since_.reset();
  return true;
}

}  // namespace hvd::coordinator
