// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/rank_protocol.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

using Dropped = std::pair<Key, Submission*>;

bool RankProtocol::may_be_read(const std::vector<Record>& records) const {
  return std::all_of(
      records.begin(), records.end(), [this](const Record& record) {
        return record.kind == RecordKind::kReject ? rejects_.contains(record.id)
                                                  : operations_.knows(record);
      });
}

absl::Status RankProtocol::read(const std::vector<Record>& records) {
  const Record& first = records.front();
  if (cycle_.is_in_force() && first.kind != RecordKind::kEndCycle) {
    return absl::InternalError(
        "the schedule goes on while a cycle is in force");
  }
  if (cycle_.is_being_announced() && first.kind != RecordKind::kCycle &&
      first.kind != RecordKind::kStartCycle) {
    return absl::InternalError(
        "the schedule goes on in the middle of a cycle's definition");
  }
  switch (first.kind) {
    case RecordKind::kRun:
      return run(records);
    case RecordKind::kRetire:
      retire(first.id);
      break;
    case RecordKind::kLeave:
      end(static_cast<int>(first.id));
      break;
    case RecordKind::kReject:
      apply_reject(first.id);
      break;
    case RecordKind::kJoin:
      begin_join(first.id);
      break;
    case RecordKind::kJoined:
      return end_join(first.id, static_cast<int>(first.value));
    case RecordKind::kCycle:
    case RecordKind::kStartCycle:
      return read_cycle(records);
    case RecordKind::kEndCycle:
      return end_cycle(first.value);
  }
  return absl::OkStatus();
}

absl::Status RankProtocol::run(const std::vector<Record>& records) {
  Batch batch = batch_.number(true);
  for (const Record& record : records) {
    Operation* const operation = operations_.find(record.id);
    if (operation == nullptr) {
      return absl::InternalError(
          absl::StrCat("the schedule runs id ", record.id, " twice"));
    }
    const Define definition = operation->definition;
    const Request& request = *definition.request;
    if (is_concerned(request)) {
      HVD_ASSIGN_OR_RETURN(Batch::Entry entry, take(*operation));
      batch.entries.push_back(std::move(entry));
    } else {
      if (operation->serves_once()) operations_.erase(record.id);
      // Every rank knows all process sets.
      if (!describe(request.kind).changes_sets) continue;
      batch.entries.push_back(
          {.agreed = definition.request, .submitted_here = false});
    }
    batch.participants = definition.participants;
    batch.result = definition.result;
    if (adds_set(request.kind)) {
      sets_.add(definition.result, request.ranks,
                describe(request.kind).is_of_members);
    } else if (removes_set(request.kind)) {
      remove_set(request.subject);
      messages_.emplace_back(Passed{{record.id}});
    }
  }
  if (!batch.entries.empty()) batch_.make_ready(std::move(batch));
  return absl::OkStatus();
}

absl::StatusOr<Batch::Entry> RankProtocol::take(Operation& operation) {
  const Key& key = operation.key();
  Batch::Entry entry = {.agreed = operation.definition.request};
  if (operation.state == State::kIdle) {
    if (const auto proposed = take_proposal(key)) {
      operation.since = proposed->since;
      operation.mine = proposed->mine;
      ++operation.submissions;
      operation.state = State::kMarked;
    }
  }
  if (operation.state == State::kMarked) {
    operation.state = State::kExecuting;
    entry.mine = operation.mine;
  } else {
    const auto joining = joining_.find(key.process_set);
    if (joining == joining_.end() || !joining->second.in_effect) {
      return absl::InternalError(absl::StrCat("the schedule runs ",
                                              key.to_string(),
                                              ", which this rank has not "
                                              "submitted"));
    }
    entry.submitted_here = false;
  }
  batch_.add(operation.definition.id);
  return entry;
}

void RankProtocol::retire(std::uint32_t id) {
  const Operation operation = *operations_.find(id);
  operations_.erase(id);
  if (operation.state == State::kMarked) {
    board_.withdraw(operation.definition.slot);
    propose(operation.definition.request,
            {.since = operation.since, .mine = operation.mine});
  }
  if (!messages_.empty() && std::holds_alternative<Passed>(messages_.back())) {
    std::get<Passed>(messages_.back()).ids.push_back(id);
  } else {
    messages_.emplace_back(Passed{{id}});
  }
}

// The set's ids are already retired, so this rank has proposed everything it
// has in flight there.
void RankProtocol::begin_join(ProcessSetId set) {
  join_phases_.insert(set);
  const auto joining = joining_.find(set);
  if (joining == joining_.end() || joining->second.in_effect) return;
  joining->second.in_effect = true;
  messages_.emplace_back(Joined{set, options_.rank});
}

absl::Status RankProtocol::end_join(ProcessSetId set, int last_rank) {
  join_phases_.erase(set);
  Batch batch = batch_.number(true);
  if (!is_member(set)) return absl::OkStatus();
  const auto joining = joining_.find(set);
  if (joining == joining_.end() || !joining->second.in_effect) {
    return absl::InternalError(
        absl::StrCat("the schedule says that all have joined process set ", set,
                     ", and this rank has not"));
  }
  batch.entries.push_back({.agreed = std::move(joining->second.request),
                           .mine = joining->second.mine});
  batch.participants = sets_.size(set);
  batch.result = last_rank;
  joining_.erase(joining);
  --in_flight_;
  batch_.make_ready(std::move(batch));
  return absl::OkStatus();
}

void RankProtocol::remove_set(ProcessSetId set) {
  std::vector<Dropped> dropped;
  for (auto& [id, operation] : operations_) {
    if (operation.key().process_set != set) continue;
    operations_.forget_name(id);
    if (operation.state == State::kIdle) continue;
    if (operation.state == State::kMarked) {
      board_.withdraw(operation.definition.slot);
    }
    operation.state = State::kIdle;
    dropped.emplace_back(operation.key(), operation.mine);
  }
  for (const auto& [request, proposed] : proposed_) {
    if (request.key().process_set != set) continue;
    dropped.emplace_back(request.key(), proposed.mine);
  }
  if (const auto joining = joining_.extract(set)) {
    dropped.emplace_back(joining.mapped().request->key, joining.mapped().mine);
  }
  std::sort(dropped.begin(), dropped.end());
  for (const auto& [key, mine] : dropped) {
    proposed_.erase(key);
    fail(key, mine,
         absl::CancelledError(absl::StrCat(
             "process set ", set,
             " was removed before every member had "
             "submitted ",
             key.to_string(),
             "; wait for its operations before you remove a set")));
  }
  join_phases_.erase(set);
  sets_.remove(set);
}

void RankProtocol::end(int rank) {
  ended_by_ = rank;
  std::vector<Dropped> dropped;
  for (auto& [id, operation] : operations_) {
    if (operation.state == State::kIdle) continue;
    operation.state = State::kIdle;
    dropped.emplace_back(operation.key(), operation.mine);
  }
  for (const auto& [request, proposed] : proposed_) {
    dropped.emplace_back(request.key(), proposed.mine);
  }
  for (const auto& [set, joining] : joining_) {
    dropped.emplace_back(joining.request->key, joining.mine);
  }
  proposed_.clear();
  joining_.clear();
  std::sort(dropped.begin(), dropped.end());
  for (const auto& [key, mine] : dropped) {
    fail(key, mine, cancelled_by(rank, key));
  }
}

}  // namespace hvd::coordinator
