// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/root_scheduler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

// "broadcast of 'w' from rank 3".
std::string with_root(const Request& request) {
  const bool sends = describe(request.kind).root == Root::kSends;
  return absl::StrCat(name_of(request.kind), " of ", request.key.to_string(),
                      sends ? " from rank " : " to rank ", request.root);
}

}  // namespace

RootScheduler::RootScheduler(const Options& options, ProcessSets sets)
    : options_(options),
      sets_(std::move(sets)),
      queue_(options.fusion, options.hold_back),
      steps_(options.steps_before_schedule) {
  next_set_id_ = sets_.ids().back() + 1;
  if (options.tuning) tuner_.emplace(*options.tuning);
}

absl::Status RootScheduler::receive(Message message) {
  std::visit([this](const auto& body) { take(body); }, message);
  return protocol_error_;
}

void RootScheduler::take(const Propose& message) {
  halt_cycle();
  if (is_leaving_) return;  // The schedule informs the proposers.
  const Key& key = message.request->key;
  if (sets_.ranks(key.process_set) == nullptr) return;  // Likewise.
  if (message.count > concerned_by(*message.request)) {
    protocol_error_ = absl::InvalidArgumentError(
        absl::StrCat(message.count, " ranks proposed ", key.to_string(),
                     ", more than its process set has"));
    return;
  }
  if (const auto known = ids_.find(key)) retire(*known);
  const Verdict verdict = judge(message);
  if (verdict.status.ok()) return define(message, verdict.result);
  reject(key, verdict.status);
}

RootScheduler::Verdict RootScheduler::judge(const Propose& message) {
  const Request& request = *message.request;
  if (message.other) {
    const auto why = find_mismatch(message.rank, request, message.other_rank,
                                   *message.other);
    return {absl::InvalidArgumentError(
        why.value_or("ranks disagree on " + request.key.to_string()))};
  }
  const absl::Status possible = judge_with_joined(message);
  if (!possible.ok()) return {possible};
  if (describe(request.kind).has_root() &&
      !sets_.contains(request.key.process_set, request.root)) {
    return {absl::InvalidArgumentError(absl::StrCat(
        with_root(request),
        ", which is not in the process set; use a member as the root"))};
  }
  if (adds_set(request.kind)) {
    const absl::StatusOr<ProcessSetId> id = add_set(request);
    if (!id.ok()) return {id.status()};
    return {absl::OkStatus(), *id};
  }
  return {removes_set(request.kind) ? check_removal(request)
                                    : absl::OkStatus()};
}

std::size_t RootScheduler::concerned_by(const Request& request) const {
  return describe(request.kind).is_of_members
             ? request.ranks.size()
             : static_cast<std::size_t>(sets_.size(request.key.process_set));
}

absl::StatusOr<ProcessSetId> RootScheduler::add_set(const Request& request) {
  // Members that agree on a set may have another of the same ranks.
  const bool is_of_members = describe(request.kind).is_of_members;
  HVD_RETURN_IF_ERROR(is_of_members ? sets_.check_ranks(request.ranks)
                                    : sets_.check(request.ranks));
  ProcessSetId id = next_set_id_;
  if (free_set_ids_.empty()) {
    ++next_set_id_;
  } else {
    id = free_set_ids_.front();
    free_set_ids_.erase(free_set_ids_.begin());
  }
  sets_.add(id, request.ranks, is_of_members);
  return id;
}

absl::Status RootScheduler::check_removal(const Request& request) const {
  const ProcessSets::Ranks ranks = sets_.ranks(request.subject);
  const bool is_theirs =
      ranks != nullptr && (request.kind == RequestKind::kRemoveProcessSet ||
                           *ranks == request.ranks);
  if (request.subject != kGlobalSet && is_theirs) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no process set ", request.subject, " to remove"));
}

absl::Status RootScheduler::judge_with_joined(const Propose& message) const {
  const Request& request = *message.request;
  const Description& operation = describe(request.kind);
  const auto size = static_cast<std::uint32_t>(concerned_by(request));
  if (message.count == size) return absl::OkStatus();
  const std::string joined =
      absl::StrCat(size - message.count, " of ", size,
                   " ranks have joined and take no part");
  if (options_.strict_join && operation.needs_every_rank_in_horovod()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name_of(request.kind), " of ", request.key.to_string(),
        " is not supported with join, as HOROVODPP_STRICT_JOIN is set: ",
        joined, "; do this before join() or after it has returned"));
  }
  if (operation.has_root() && !message.root_is_here) {
    return absl::InvalidArgumentError(
        absl::StrCat(with_root(request), ", which has joined (", joined,
                     "); name a rank that has not"));
  }
  switch (operation.joined) {
    case IfJoined::kNeutral:
      // The contribution of joined ranks is scaled, too.
      if (std::isfinite(request.prescale) &&
          (describe(request.op).neutral != Neutral::kOne ||
           request.prescale == 1.0)) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(absl::StrCat(
          name_of(request.kind), " of ", request.key.to_string(), " (op ",
          name_of(request.op), ", prescale ", request.prescale,
          ") has no neutral value for those that do not take part: ", joined,
          "; scale the tensors before, or the result"));
    case IfJoined::kRefused:
      return absl::InvalidArgumentError(
          absl::StrCat(name_of(request.kind), " of ", request.key.to_string(),
                       " needs every rank: ", joined,
                       "; do this before join() or after it has returned"));
    default:
      return absl::OkStatus();
  }
}

void RootScheduler::reject(const Key& key, const absl::Status& why) {
  const std::uint32_t number = next_reject_++;
  announcements_.emplace_back(
      Reject{.number = number,
             .key = key,
             .code = static_cast<std::uint32_t>(why.code()),
             .why = std::string(why.message())});
  queue_.push({.kind = RecordKind::kReject, .id = number});
}

void RootScheduler::define(const Propose& message, std::uint32_t result) {
  const std::uint32_t id = next_id_++;
  const RequestPtr& request = message.request;
  const ProcessSetId set = request->key.process_set;
  const bool once = request->once || join_phases_.contains(set) ||
                    describe(request->kind).changes_sets;
  const std::uint32_t slot = once ? kNoSlot : take_slot();
  if (slot != kNoSlot) {
    live_[id] = {.request = request,
                 .slot = slot,
                 .age = by_age_.insert(by_age_.end(), id)};
    ids_.set(*request, id);
  }
  const int participants = static_cast<int>(message.count);
  announcements_.emplace_back(Define{.id = id,
                                     .slot = slot,
                                     .participants = participants,
                                     .result = result,
                                     .request = request});
  enqueue_run(id, request, participants);
  if (removes_set(request->kind)) {
    remove_set(id, request->subject);
  }
}

// Returns a free slot of the board, or kNoSlot. Without a free slot, the id
// serves once and the least recently executed id is retired. The slot becomes
// free when all ranks have passed the retirement, which no rank waits for.
std::uint32_t RootScheduler::take_slot() {
  if (!free_slots_.empty()) {
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  if (used_slots_ < options_.capacity) return used_slots_++;
  is_full_ = !std::exchange(has_been_full_, true);
  if (!by_age_.empty()) retire(by_age_.front());
  return kNoSlot;
}

void RootScheduler::retire(std::uint32_t id) {
  const auto found = live_.find(id);
  retired_[id] = found->second.slot;
  ids_.erase(found->second.request->key, id);
  by_age_.erase(found->second.age);
  live_.erase(found);
  queue_.push({.kind = RecordKind::kRetire, .id = id});
  steps_.retired(id);
}

void RootScheduler::retire_all_of(ProcessSetId set) {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, live] : live_) {
    if (live.request->key.process_set == set) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  for (const std::uint32_t id : ids) retire(id);
}

// Retire the set's ids after the removal, when no rank has an operation in
// flight that would have to be proposed again.
void RootScheduler::remove_set(std::uint32_t id, ProcessSetId set) {
  retire_all_of(set);
  join_phases_.erase(set);
  sets_.remove(set);
  removed_sets_[id] = set;
}

void RootScheduler::take(const Outdated& message) {
  halt_cycle();
  if (live_.contains(message.id)) retire(message.id);
}

void RootScheduler::take(const Ready& message) {
  // While a cycle is in force, each rank records its own submissions.
  if (cycle_run_) return;
  for (const std::uint32_t id : message.ids) {
    const auto found = live_.find(id);
    if (found == live_.end()) continue;
    by_age_.splice(by_age_.end(), by_age_, found->second.age);
    const ProcessSetId set = found->second.request->key.process_set;
    enqueue_run(id, found->second.request, sets_.size(set));
  }
}

void RootScheduler::take(const Passed& message) {
  for (const std::uint32_t id : message.ids) {
    if (const auto slot = retired_.extract(id)) {
      free_slots_.push_back(slot.mapped());
    } else if (const auto set = removed_sets_.extract(id)) {
      free_set_ids_.push_back(set.mapped());
    } else {
      protocol_error_ = absl::InvalidArgumentError(
          absl::StrCat("id ", id, " was passed, but is not being retired"));
    }
  }
}

// While a rank has joined, ranks agree on each use of a name in the set: the
// contributing ranks change from call to call.
void RootScheduler::take(const Join& message) {
  halt_cycle();
  const ProcessSetId set = message.process_set;
  if (is_leaving_ || sets_.ranks(set) == nullptr) return;
  if (!join_phases_.insert(set).second) return;
  retire_all_of(set);
  queue_.push({.kind = RecordKind::kJoin, .id = set});
  steps_.disturb();
}

void RootScheduler::take(const Joined& message) {
  if (is_leaving_ || !join_phases_.contains(message.process_set)) return;
  join_phases_.erase(message.process_set);
  queue_.push({.kind = RecordKind::kJoined,
               .id = message.process_set,
               .value = static_cast<std::uint64_t>(message.last_rank)});
}

void RootScheduler::take(const Leave& message) {
  halt_cycle();
  if (std::exchange(is_leaving_, true)) return;
  queue_.push({.kind = RecordKind::kLeave,
               .id = static_cast<std::uint32_t>(message.rank)});
}

void RootScheduler::take(const AllLeft&) { all_left_ = true; }

void RootScheduler::enqueue_run(std::uint32_t id, RequestPtr request,
                                int participants) {
  if (is_leaving_) return;  // No operation runs after kLeave.
  queue_.push_run(id, std::move(request), participants);
}

std::vector<Message>& RootScheduler::take_announcements() {
  announced_.clear();
  announced_.swap(announcements_);
  return announced_;
}

std::vector<Record> RootScheduler::cut(Clock::TimePoint now, bool is_idle) {
  if (!cycle_run_ && is_idle && !resume_cycle()) start_cycle();
  if (cycle_run_) return next_part_of_cycle();
  std::vector<Record> records = queue_.cut(now, is_idle);
  for (const Record& record : records) {
    if (record.kind != RecordKind::kRun) continue;
    live_.contains(record.id) ? steps_.ran(record.id, record.ends_batch)
                              : steps_.ran_once();
  }
  return records;
}

}  // namespace hvd::coordinator
