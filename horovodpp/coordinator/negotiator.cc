#include "horovodpp/coordinator/negotiator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::coordinator {
namespace {

absl::Status shut_down(int rank, const std::string& name) {
  return absl::CancelledError(absl::StrCat(
      "rank ", rank, " shut down before every rank had submitted '", name,
      "'; call shutdown() after the last collective on every rank"));
}

}  // namespace

void Negotiator::submit(const Request& request) {
  if (ended_by_) {
    failures_.push_back({request.name, shut_down(*ended_by_, request.name)});
    return;
  }
  InFlight& submission = in_flight_[request.name];
  submission.request = request;
  const auto id = id_of_.find(request.name);
  if (id == id_of_.end()) return propose(submission);
  const Known& known = known_[id->second];
  if (!is_repetition(known.request, request)) return propose(submission);
  submission.arrived_at = id->second;
  if (board_.arrive(known.slot, id->second)) leader_is_wanted_ = true;
}

void Negotiator::propose(InFlight& submission) {
  submission.arrived_at = kNotArrived;
  messages_.emplace_back(Propose{submission.request});
}

absl::Status Negotiator::define(const Define& message) {
  if (!known_.try_emplace(message.id, Known{message.request, message.slot})
           .second) {
    return absl::InternalError(
        absl::StrCat("the root defined id ", message.id, " twice"));
  }
  if (message.slot != kNoSlot) id_of_[message.request.name] = message.id;
  return absl::OkStatus();
}

absl::Status Negotiator::reject(const Reject& message) {
  if (ended_by_) return absl::OkStatus();  // It has failed with that already.
  if (in_flight_.erase(message.name) == 0) {
    return absl::InternalError(
        absl::StrCat("the root rejected '", message.name,
                     "', which this rank did not propose"));
  }
  failures_.push_back({message.name, absl::InvalidArgumentError(message.why)});
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Batch>> Negotiator::next_batch() {
  while (true) {
    const std::vector<Record> records = board_.next_batch();
    if (records.empty()) return std::nullopt;
    const Record& first = records.front();
    if (first.kind == RecordKind::kRun) {
      auto batch = batch_of(records);
      if (!batch.ok() || !batch->has_value()) return batch;
      if (board_.advance()) leader_is_wanted_ = true;
      forget_after_use(records);
      return batch;
    }
    // A retirement may overtake the definition, which comes by another way.
    if (first.kind == RecordKind::kRetire && !defined(first.id))
      return std::nullopt;
    if (board_.advance()) leader_is_wanted_ = true;
    if (first.kind == RecordKind::kRetire) retire(first.id);
    if (first.kind == RecordKind::kLeave) end(static_cast<int>(first.id));
  }
}

absl::StatusOr<std::optional<Batch>> Negotiator::batch_of(
    const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (!defined(record.id)) return std::nullopt;
  }
  Batch batch;
  for (const Record& record : records) {
    const std::string& name = known_[record.id].request.name;
    const auto mine = in_flight_.find(name);
    if (mine == in_flight_.end()) {
      return absl::InternalError(absl::StrCat(
          "the schedule runs '", name, "', which this rank has not submitted"));
    }
    if (batch.names.empty()) batch.request = mine->second.request;
    batch.names.push_back(name);
  }
  for (const std::string& name : batch.names) in_flight_.erase(name);
  return batch;
}

void Negotiator::forget_after_use(const std::vector<Record>& records) {
  for (const Record& record : records) {
    const auto known = known_.find(record.id);
    if (known->second.slot == kNoSlot) known_.erase(known);
  }
}

void Negotiator::retire(std::uint32_t id) {
  const auto known = known_.find(id);
  const std::string name = known->second.request.name;
  const std::uint32_t slot = known->second.slot;
  known_.erase(known);
  // The name may have a newer id already.
  const auto current = id_of_.find(name);
  if (current != id_of_.end() && current->second == id) id_of_.erase(current);

  const auto mine = in_flight_.find(name);
  if (mine != in_flight_.end() && mine->second.arrived_at == id) {
    board_.withdraw(slot);
    propose(mine->second);
  }
  messages_.emplace_back(Passed{id});
}

void Negotiator::end(int rank) {
  ended_by_ = rank;
  for (const auto& [name, submission] : in_flight_) {
    failures_.push_back({name, shut_down(rank, name)});
  }
  in_flight_.clear();
}

std::vector<Message> Negotiator::take_messages() {
  return std::exchange(messages_, {});
}

std::vector<Failure> Negotiator::take_failures() {
  return std::exchange(failures_, {});
}

bool Negotiator::take_leader_is_wanted() {
  return std::exchange(leader_is_wanted_, false);
}

}  // namespace hvd::coordinator
