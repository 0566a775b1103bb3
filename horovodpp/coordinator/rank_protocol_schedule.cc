#include "horovodpp/coordinator/rank_protocol.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

absl::StatusOr<std::optional<Batch>> RankProtocol::next_batch() {
  if (executing_) return std::nullopt;
  while (!next_) {
    const std::vector<Record> records = board_.next_batch();
    if (records.empty()) {
      if (cycle_) enter_cycle_head();
      break;
    }
    // The schedule may overtake definitions and rejections, which come by
    // another way.
    if (!may_be_read(records)) break;
    HVD_RETURN_IF_ERROR(read(records).status());
    if (board_.advance()) leader_is_wanted_ = true;
    has_read_ = true;
  }
  executing_ = next_.has_value();
  return std::exchange(next_, std::nullopt);
}

bool RankProtocol::may_be_read(const std::vector<Record>& records) const {
  return std::all_of(
      records.begin(), records.end(), [this](const Record& record) {
        const bool names_an_id = record.kind == RecordKind::kRun ||
                                 record.kind == RecordKind::kRetire ||
                                 record.kind == RecordKind::kCycle;
        if (record.kind == RecordKind::kReject) {
          return rejects_.contains(record.id);
        }
        return !names_an_id || known_.contains(record.id);
      });
}

absl::StatusOr<bool> RankProtocol::read(const std::vector<Record>& records) {
  const Record& first = records.front();
  if (cycle_ && first.kind != RecordKind::kEndCycle) {
    return absl::InternalError(
        "the schedule goes on while a cycle is in force");
  }
  switch (first.kind) {
    case RecordKind::kRun:
      HVD_RETURN_IF_ERROR(run(records));
      break;
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
      HVD_RETURN_IF_ERROR(end_join(first.id, static_cast<int>(first.value)));
      break;
    case RecordKind::kCycle:
    case RecordKind::kStartCycle:
      HVD_RETURN_IF_ERROR(start_cycle(records));
      break;
    case RecordKind::kEndCycle:
      HVD_RETURN_IF_ERROR(end_cycle(first.value));
      break;
  }
  return true;
}

Batch RankProtocol::new_batch() {
  executing_ids_.clear();
  return {.epoch = epoch_, .sequence = sequence_++, .certain = !cycle_};
}

absl::Status RankProtocol::run(const std::vector<Record>& records) {
  Batch batch = new_batch();
  for (const Record& record : records) {
    const auto known = known_.find(record.id);
    if (known == known_.end()) {
      return absl::InternalError(
          absl::StrCat("the schedule runs id ", record.id, " twice"));
    }
    const Define definition = known->second.definition;
    const Request& request = *definition.request;
    if (!is_member(request.key.process_set)) {
      if (definition.slot == kNoSlot) known_.erase(record.id);
      continue;
    }
    HVD_ASSIGN_OR_RETURN(Batch::Entry entry, take(record.id));
    batch.entries.push_back(std::move(entry));
    batch.participants = definition.participants;
    batch.result = definition.result;
    if (request.kind == RequestKind::kAddProcessSet) {
      sets_.add(definition.result, request.ranks);
    } else if (request.kind == RequestKind::kRemoveProcessSet) {
      remove_set(request.subject);
      messages_.emplace_back(Passed{{record.id}});
    }
  }
  if (!batch.entries.empty()) next_ = std::move(batch);
  return absl::OkStatus();
}

absl::StatusOr<Batch::Entry> RankProtocol::take(std::uint32_t id) {
  Known& known = known_[id];
  const Key& key = known.definition.request->key;
  Batch::Entry entry = {.agreed = known.definition.request};
  const auto proposed = proposed_.find(key);
  if (known.state == State::kIdle && proposed != proposed_.end()) {
    known.since = proposed->second;
    ++known.submissions;
    forget_proposal(key);
    known.state = State::kMarked;
  }
  if (known.state == State::kMarked) {
    known.state = State::kExecuting;
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
  executing_ids_.push_back(id);
  return entry;
}

void RankProtocol::finished() {
  executing_ = false;
  has_read_ = true;
  for (const std::uint32_t id : executing_ids_) {
    const auto known = known_.find(id);
    if (known == known_.end()) continue;
    if (known->second.state == State::kExecuting) --in_flight_;
    known->second.state = State::kIdle;
    if (known->second.definition.slot == kNoSlot) known_.erase(known);
  }
  executing_ids_.clear();
}

void RankProtocol::retire(std::uint32_t id) {
  const auto found = known_.find(id);
  const Known known = std::move(found->second);
  known_.erase(found);
  // The name may have a newer id already.
  const Key& key = known.definition.request->key;
  id_of_.erase(key, id);

  if (known.state == State::kMarked) {
    board_.withdraw(known.definition.slot);
    propose(*known.definition.request, known.since);
  }
  if (!messages_.empty() && std::holds_alternative<Passed>(messages_.back())) {
    std::get<Passed>(messages_.back()).ids.push_back(id);
  } else {
    messages_.emplace_back(Passed{{id}});
  }
}

// The set's ids are retired by now, so whatever this rank has in flight there
// has been proposed.
void RankProtocol::begin_join(ProcessSetId set) {
  join_phases_.insert(set);
  const auto joining = joining_.find(set);
  if (joining == joining_.end() || joining->second.in_effect) return;
  joining->second.in_effect = true;
  messages_.emplace_back(Joined{set, options_.rank});
}

absl::Status RankProtocol::end_join(ProcessSetId set, int last_rank) {
  join_phases_.erase(set);
  Batch batch = new_batch();
  if (!is_member(set)) return absl::OkStatus();
  const auto joining = joining_.find(set);
  if (joining == joining_.end() || !joining->second.in_effect) {
    return absl::InternalError(
        absl::StrCat("the schedule says that all have joined process set ", set,
                     ", and this rank has not"));
  }
  batch.entries.push_back({.agreed = std::move(joining->second.request)});
  batch.participants = sets_.size(set);
  batch.result = last_rank;
  joining_.erase(joining);
  --in_flight_;
  next_ = std::move(batch);
  return absl::OkStatus();
}

void RankProtocol::remove_set(ProcessSetId set) {
  std::vector<Key> dropped;
  for (auto& [id, known] : known_) {
    if (known.definition.request->key.process_set != set) continue;
    if (known.state == State::kIdle) continue;
    if (known.state == State::kMarked) board_.withdraw(known.definition.slot);
    known.state = State::kIdle;
    dropped.push_back(known.definition.request->key);
  }
  for (const auto& [key, since] : proposed_) {
    if (key.process_set == set) dropped.push_back(key);
  }
  if (const auto joining = joining_.extract(set)) {
    dropped.push_back(joining.mapped().request->key);
  }
  std::sort(dropped.begin(), dropped.end());
  for (const Key& key : dropped) {
    proposed_.erase(key);
    fail(key, absl::CancelledError(absl::StrCat(
                  "process set ", set,
                  " was removed before every member had "
                  "submitted ",
                  key.to_string(),
                  "; wait for what is in flight before you remove a set")));
  }
  join_phases_.erase(set);
  sets_.remove(set);
}

void RankProtocol::end(int rank) {
  ended_by_ = rank;
  std::vector<Key> dropped;
  for (auto& [id, known] : known_) {
    if (known.state == State::kIdle) continue;
    known.state = State::kIdle;
    dropped.push_back(known.definition.request->key);
  }
  for (const auto& [key, since] : proposed_) dropped.push_back(key);
  for (const auto& [set, joining] : joining_) {
    dropped.push_back(joining.request->key);
  }
  proposed_.clear();
  joining_.clear();
  std::sort(dropped.begin(), dropped.end());
  for (const Key& key : dropped) fail(key, cancelled_by(rank, key));
}

}  // namespace hvd::coordinator
