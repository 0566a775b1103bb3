// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/cycle.h"
#include "horovodpp/coordinator/node_board.h"
#include "horovodpp/coordinator/root_scheduler.h"

namespace hvd::coordinator {
namespace {

// What ranks do in lockstep: none is done with it before all have begun, so a
// batch that one rank never enters can be given up by all.
bool can_be_abandoned(const Request& request) {
  return request.kind == RequestKind::kAllreduce ||
         request.kind == RequestKind::kAllgather ||
         request.kind == RequestKind::kReducescatter;
}

}  // namespace

std::vector<Record> RootScheduler::start_cycle() {
  const std::vector<std::uint32_t> ids = steps_.repeated();
  if (ids.empty() || is_leaving_) return {};
  const std::optional<std::vector<Candidate>> step = candidates(ids);
  if (!step) {
    steps_.refuse();
    return {};
  }
  Cycle cycle;
  std::vector<Record> records;
  for (const auto& batch : plan_fusion(*step, options_.fusion)) {
    for (const std::size_t index : batch) {
      const bool ends = index == batch.back();
      cycle.add(ids[index], ends);
      records.push_back({.kind = RecordKind::kCycle,
                         .id = ids[index],
                         .value = ends ? 1u : 0u,
                         .ends_batch = false});
    }
  }
  // What is queued of it is executed as part of it: every rank knows itself that
  // it has submitted that.
  if (!queue_.drop_all_of(cycle)) return {};
  steps_.begin();
  cycle_run_ = next_run_++;
  cycle_batches_ = cycle.batches();
  records.push_back({.kind = RecordKind::kStartCycle,
                     .id = *cycle_run_,
                     .value = cycle.hash()});
  return records;
}

// What a cycle of these would be cut from; nullopt if they cannot make one.
std::optional<std::vector<Candidate>> RootScheduler::candidates(
    const std::vector<std::uint32_t>& ids) const {
  if (ids.size() >= kMaxAppend) return std::nullopt;
  std::vector<Candidate> candidates;
  for (const std::uint32_t id : ids) {
    const auto live = live_.find(id);
    if (live == live_.end()) return std::nullopt;
    const Request& request = *live->second.request;
    if (request.key.process_set != kGlobalSet || !can_be_abandoned(request)) {
      return std::nullopt;
    }
    candidates.push_back({&request, sets_.size(kGlobalSet)});
  }
  return candidates;
}

void RootScheduler::take(const Stop& message) {
  if (cycle_run_ == message.run) halt_cycle();
}

void RootScheduler::halt_cycle() {
  if (!cycle_run_ || is_halting_) return;
  is_halting_ = true;
  announcements_.emplace_back(Halt{*cycle_run_});
}

void RootScheduler::take(const Halted& message) {
  if (!is_halting_ || cycle_run_ != message.run) {
    protocol_error_ =
        absl::InvalidArgumentError("ranks halted a cycle that is not halting");
    return;
  }
  // Before what has come up since: that is agreed on outside of cycles.
  queue_.push_front({.kind = RecordKind::kEndCycle, .value = message.entered});
  steps_.followed(message.entered / cycle_batches_);
  cycle_run_.reset();
  is_halting_ = false;
}

}  // namespace hvd::coordinator
