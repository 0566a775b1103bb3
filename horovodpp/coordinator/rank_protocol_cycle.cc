// SPDX-License-Identifier: Apache-2.0
// The part of RankProtocol that follows cycles and repeated submissions. It
// learns the order of a cycle from the schedule, and enters its batches without
// asking the root.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/rank_protocol.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

absl::Status cycle_mismatch() {
  return absl::InternalError(
      "the cycle in the schedule is not the cycle that the root made");
}

}  // namespace

// Reads a cycle, or part of a long one. A kStartCycle without kCycle records
// restarts the last cycle.
absl::Status RankProtocol::read_cycle(const std::vector<Record>& records) {
  bool lasts = true;  // No id is forgotten after its first run.
  for (const Record& record : records) {
    if (record.kind == RecordKind::kStartCycle && lasts) {
      return start_cycle(record);
    }
    lasts = lasts && record.kind == RecordKind::kCycle &&
            !operations_.find(record.id)->serves_once();
    cycle_.announce(record.id, record.value != 0);
  }
  return lasts ? absl::OkStatus() : cycle_mismatch();
}

absl::Status RankProtocol::start_cycle(const Record& start) {
  const auto is_known = [this](std::uint32_t id) {
    return operations_.find(id) != nullptr;
  };
  const bool is_new = cycle_.is_being_announced();
  if (!cycle_.begin(start.id, start.value, is_known)) {
    return cycle_mismatch();
  }
  if (is_new) {
    plan_cycle();
    measure_cycle();
  }
  meter_.interrupt();
  set_places(first_places_);
  batch_.begin_epoch();
  // Marks from before the cycle no longer count.
  for (const std::uint32_t id : operations_.ids_in(State::kMarked)) {
    Operation& operation = *operations_.find(id);
    board_.withdraw(operation.definition.slot);
    submit_in_cycle(operation);
  }
  if (cycle_.is_halted()) messages_.emplace_back(Halted{cycle_.run(), 0});
  return absl::OkStatus();
}

// A plan stays valid as long as its cycle: forgotten ids are never used again.
void RankProtocol::plan_cycle() {
  ++plan_number_;
  first_places_.clear();
  absl::flat_hash_map<Operation*, std::vector<Operation::Place>> repeated;
  const Cycle& cycle = cycle_.cycle();
  plan_.assign(cycle.batches(), {});
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    Batch& batch = plan_[i].batch;
    std::vector<Operation*>& operations = plan_[i].operations;
    batch.cycle = plan_number_;
    batch.place = i;
    for (const std::uint32_t id : cycle.ids_of(i)) {
      Operation& operation = *operations_.find(id);
      const Operation::Place place = {
          .cycle = plan_number_,
          .batch = static_cast<std::uint32_t>(i),
          .entry = static_cast<std::uint32_t>(operations.size())};
      if (operation.place.cycle == plan_number_) {
        std::vector<Operation::Place>& places = repeated[&operation];
        if (places.empty()) places.push_back(operation.place);
        places.push_back(place);
      } else {
        operation.place = place;
      }
      operations.push_back(&operation);
      batch.entries.push_back({.agreed = operation.definition.request});
      batch.participants = operation.definition.participants;
    }
  }
  for (const auto& [operation, places] : repeated) {
    first_places_.push_back({operation, places.front()});
    for (std::size_t i = 0; i < places.size(); ++i) {
      plan_[places[i].batch].next.push_back(
          {operation, places[(i + 1) % places.size()]});
    }
  }
}

void RankProtocol::measure_cycle() {
  std::vector<std::size_t> sizes;
  std::vector<const Request*> requests;
  for (const PlannedBatch& planned : plan_) {
    sizes.push_back(planned.batch.entries.size());
    for (const Batch::Entry& entry : planned.batch.entries) {
      requests.push_back(entry.agreed.get());
    }
  }
  meter_.begin_cycle(cycle_.cycle().hash(), sizes, is_tunable(requests));
}

void RankProtocol::executed(const Batch& batch, std::uint64_t began,
                            std::uint64_t ended) {
  if (batch.cycle == 0 || !meter_.is_on()) return;
  if (auto found = meter_.executed(batch, began, ended)) {
    messages_.emplace_back(*std::move(found));
  }
}

absl::Status RankProtocol::end_cycle(std::uint64_t executed) {
  const bool is_in_force = cycle_.is_in_force();
  const std::uint64_t entered = is_in_force ? cycle_.cycle().entered() : 0;
  // One more than executed: this batch was abandoned.
  if (!is_in_force || entered < executed || entered > executed + 1) {
    return absl::InternalError(
        absl::StrCat("the schedule ends a cycle after ", executed,
                     " batches, and this rank has entered ", entered));
  }
  cycle_.end();
  batch_.begin_epoch();
  std::vector<std::uint32_t> waiting = operations_.ids_in(State::kInCycle);
  const std::vector<std::uint32_t> deferred =
      operations_.ids_in(State::kDeferred);
  waiting.insert(waiting.end(), deferred.begin(), deferred.end());
  std::sort(waiting.begin(), waiting.end());
  for (const std::uint32_t id : waiting) mark(*operations_.find(id));
  return absl::OkStatus();
}

void RankProtocol::submit_in_cycle(Operation& operation) {
  const Operation::Place& place = operation.place;
  if (place.cycle == plan_number_) {
    operation.state = State::kInCycle;
    plan_[place.batch].batch.entries[place.entry].mine = operation.mine;
    cycle_.cycle().submitted_in(place.batch);
  } else {
    operation.state = State::kDeferred;
    stop_cycle();
  }
}

void RankProtocol::enter_cycle_head() {
  if (cycle_.is_halted()) return;
  Cycle& cycle = cycle_.cycle();
  if (!cycle.head_is_ready()) {
    // The missing submissions of the head may come only after the caller's
    // wait.
    const auto in_flight = [this](const Key& key) { return is_in_flight(key); };
    if (awaited_.any(in_flight)) stop_cycle();
    return;
  }
  entered_ = &plan_[cycle.position()];
  cycle.enter_head();
  batch_.make_planned_ready(entered_->batch);
}

// Only with nothing else in flight: then nothing needs updating when it is
// over.
const Batch* RankProtocol::lone_head(Submission& mine) {
  if (in_flight_ > 0 || !cycle_.goes_on() || batch_.is_ready() ||
      batch_.is_executing() || !messages_.empty() || !failures_.empty()) {
    return nullptr;
  }
  const Operation* const operation = repeated_by(mine);
  if (operation == nullptr || operation->place.cycle != plan_number_ ||
      operation->place.batch != cycle_.cycle().position()) {
    return nullptr;
  }
  const PlannedBatch& head = plan_[operation->place.batch];
  const bool is_alone = head.operations.size() == 1;
  return is_alone && !board_.next_record() ? &head.batch : nullptr;
}

void RankProtocol::enter_lone_head(Submission& mine, Clock::TimePoint now) {
  Cycle& cycle = cycle_.cycle();
  PlannedBatch& head = plan_[cycle.position()];
  Operation& operation = *head.operations.front();
  operation.mine = head.batch.entries.front().mine = &mine;
  operation.state = State::kInCycle;
  ++operation.submissions;
  ++in_flight_;
  last_alone_ = operation.definition.id;
  last_alone_at_ = now;
  entered_ = &head;
  cycle.enter_head();
  batch_.make_planned_ready(head.batch);
  batch_.give_out();
}

void RankProtocol::begin_to_wait(Clock::TimePoint now) {
  Operation& operation = *entered_->operations.front();
  awaited_.erase(operation.key());
  operation.since = now;
  last_alone_ = kNoId;
  stalls_.submitted(operation.key().name, true, now);
}

void RankProtocol::set_places(const std::vector<Place>& places) {
  for (const Place& next : places) next.operation->place = next.place;
}

// Only batches of a cycle are abandoned.
void RankProtocol::abandoned() {
  batch_.end();
  meter_.interrupt();
  for (Operation* const operation :
       std::exchange(entered_, nullptr)->operations) {
    operation->state = State::kDeferred;
  }
}

bool RankProtocol::should_abandon() const {
  if (!batch_.is_executing() || !cycle_.is_in_force() || !cycle_.is_halted()) {
    return false;
  }
  const std::optional<Record> next = board_.next_record();
  return next && next->kind == RecordKind::kEndCycle &&
         next->value < cycle_.cycle().entered();
}

void RankProtocol::halt(const Halt& message) {
  cycle_.halt(message.run);
  if (cycle_.is_in_force() && cycle_.is_halted()) {
    messages_.emplace_back(Halted{message.run, cycle_.cycle().entered()});
  }
}

void RankProtocol::stop_cycle() {
  if (cycle_.ask_for_end()) messages_.emplace_back(Stop{cycle_.run()});
}

Operation* RankProtocol::repeated_by(Submission& mine) const {
  if (mine.name == nullptr || mine.name->as_of != operations_.changes() ||
      ended_by_ || !joining_.empty()) {
    return nullptr;
  }
  Operation& operation = *mine.name->operation;
  if (mine.repeats == operation.definition.id) return &operation;
  if (!operation.is_member ||
      !is_repetition(operation.request(), mine.request)) {
    return nullptr;
  }
  mine.repeats = operation.definition.id;
  return &operation;
}

void RankProtocol::finished() {
  has_read_ = true;
  const std::vector<std::uint32_t> ids = batch_.end();
  if (const PlannedBatch* const planned = std::exchange(entered_, nullptr)) {
    for (Operation* const operation : planned->operations) {
      operation->state = State::kIdle;
    }
    set_places(planned->next);
    in_flight_ -= static_cast<int>(planned->operations.size());
    return;
  }
  for (const std::uint32_t id : ids) {
    Operation* const operation = operations_.find(id);
    if (operation == nullptr) continue;
    if (operation->state == State::kExecuting) --in_flight_;
    operation->state = State::kIdle;
    if (operation->serves_once()) operations_.erase(id);
  }
}

}  // namespace hvd::coordinator
