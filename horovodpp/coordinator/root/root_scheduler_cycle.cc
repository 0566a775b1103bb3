// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "horovodpp/coordinator/protocol/cycle.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/coordinator/root/root_scheduler.h"

namespace hvd::coordinator {
namespace {

Cycle as_it_ran(const std::vector<std::uint32_t>& ids,
                const std::vector<bool>& ends) {
  Cycle cycle;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    cycle.add(ids[i], ends[i] || i + 1 == ids.size());
  }
  return cycle;
}

// End of the part of the cycle that begins at `first` and is planned together.
// A part has at most kMaxAppend operations and no operation twice, because a
// second run cannot be in flight before the first is over.
std::size_t end_of_part(const std::vector<std::uint32_t>& ids,
                        std::size_t first) {
  const std::size_t most = std::min(ids.size(), first + kMaxAppend);
  absl::flat_hash_set<std::uint32_t> seen;
  std::size_t end = first;
  while (end < most && seen.insert(ids[end]).second) ++end;
  return end;
}

}  // namespace

// Resumes the interrupted cycle once the next step has begun. Before that,
// other operations may still interrupt it.
bool RootScheduler::resume_cycle() {
  if (!steps_.may_resume() || queue_.empty() || is_leaving_ ||
      !queue_.drop_all_of(cycle_)) {
    return false;
  }
  steps_.resume();
  if (next_cycle_) {
    cycle_ = *std::exchange(next_cycle_, std::nullopt);
    steps_of_cycle_ = 0;
    announce_cycle();
  }
  put_in_force();
  return true;
}

Cycle RootScheduler::fused(const std::vector<std::uint32_t>& ids,
                           const std::vector<Candidate>& step) const {
  Cycle cycle;
  for (std::size_t first = 0, end = 0; first < ids.size(); first = end) {
    end = end_of_part(ids, first);
    const auto part = std::span(step).subspan(first, end - first);
    for (const auto& batch : plan_fusion(part, options_.fusion)) {
      for (const std::size_t index : batch) {
        cycle.add(ids[first + index], index == batch.back());
      }
    }
  }
  return cycle;
}

bool RootScheduler::start_cycle() {
  const std::vector<std::uint32_t>& ids = steps_.repeated();
  if (ids.empty() || is_leaving_) return false;
  const std::optional<std::vector<Candidate>> step = candidates(ids);
  if (!step) {
    steps_.refuse();
    return false;
  }
  const std::vector<bool>* const ends = steps_.batch_ends();
  Cycle cycle = ends == nullptr ? fused(ids, *step) : as_it_ran(ids, *ends);
  // Queued runs of these operations execute as part of the cycle: every rank
  // knows its own submissions.
  if (!queue_.drop_all_of(cycle)) return false;
  steps_.begin();
  next_cycle_.reset();
  steps_of_cycle_ = 0;
  if (tuner_) {
    if (ends == nullptr) {
      cycle = tuner_->begin(ids, *step, cycle);
    } else {
      tuner_->forget();
    }
  }
  cycle_ = std::move(cycle);
  announce_cycle();
  put_in_force();
  return true;
}

void RootScheduler::announce_cycle() {
  std::vector<Record> part;
  for (std::size_t batch = 0; batch < cycle_.batches(); ++batch) {
    for (const std::uint32_t id : cycle_.ids_of(batch)) {
      const bool ends = id == cycle_.ids_of(batch).back();
      part.push_back({.kind = RecordKind::kCycle,
                      .id = id,
                      .value = ends ? 1u : 0u,
                      .ends_batch = part.size() + 1 == kMaxAppend});
      if (part.size() < kMaxAppend) continue;
      cycle_parts_.push_back(std::exchange(part, {}));
    }
  }
  cycle_parts_.push_back(std::move(part));
}

// A kStartCycle record alone puts the last cycle in force again.
void RootScheduler::put_in_force() {
  cycle_run_ = next_run_++;
  if (cycle_parts_.empty()) cycle_parts_.emplace_back();
  cycle_parts_.back().push_back({.kind = RecordKind::kStartCycle,
                                 .id = *cycle_run_,
                                 .value = cycle_.hash()});
}

std::vector<Record> RootScheduler::next_part_of_cycle() {
  if (cycle_parts_.empty()) return {};
  std::vector<Record> part = std::move(cycle_parts_.front());
  cycle_parts_.pop_front();
  return part;
}

// The operations of a possible cycle; nullopt if they cannot form one.
std::optional<std::vector<Candidate>> RootScheduler::candidates(
    const std::vector<std::uint32_t>& ids) const {
  std::vector<Candidate> candidates;
  for (const std::uint32_t id : ids) {
    const auto live = live_.find(id);
    if (live == live_.end()) return std::nullopt;
    const Request& request = *live->second.request;
    if (request.key.process_set != kGlobalSet ||
        !describe(request.kind).can_be_abandoned) {
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

// Ranks follow `cycle` instead of the cycle in force, from the next step on.
void RootScheduler::change_cycle(std::optional<Cycle> cycle) {
  if (!cycle) return;
  next_cycle_ = std::move(cycle);
  halt_cycle();
}

void RootScheduler::take(const Measured& message) {
  if (!tuner_ || !cycle_run_ || is_halting_ || is_leaving_) return;
  change_cycle(tuner_->measured(message));
}

// Marks the cycle's operations as recently run: ranks do not report runs within
// a cycle.
void RootScheduler::was_followed() {
  for (std::size_t i = 0; i < cycle_.batches(); ++i) {
    for (const std::uint32_t id : cycle_.ids_of(i)) {
      const auto found = live_.find(id);
      if (found == live_.end()) continue;
      by_age_.splice(by_age_.end(), by_age_, found->second.age);
    }
  }
}

void RootScheduler::take(const Halted& message) {
  if (!is_halting_ || cycle_run_ != message.run) {
    protocol_error_ =
        absl::InvalidArgumentError("ranks halted a cycle that is not halting");
    return;
  }
  // Goes before later operations, which are agreed on outside the cycle.
  queue_.push_front({.kind = RecordKind::kEndCycle, .value = message.entered});
  const std::uint64_t steps = message.entered / cycle_.batches();
  std::vector<std::uint32_t> begun;
  for (std::size_t i = 0; i < message.entered % cycle_.batches(); ++i) {
    begun.insert(begun.end(), cycle_.ids_of(i).begin(), cycle_.ids_of(i).end());
  }
  steps_.followed(steps, begun);
  steps_of_cycle_ += steps;
  if (next_cycle_) {
    steps_.note_own_interruption();
  } else if (tuner_ && steps_of_cycle_ == 0) {
    next_cycle_ = tuner_->could_not_follow();
  }
  was_followed();
  cycle_run_.reset();
  is_halting_ = false;
}

}  // namespace hvd::coordinator
