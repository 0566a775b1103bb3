#include "horovodpp/coordinator/rank_protocol.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

absl::Status RankProtocol::start_cycle(const std::vector<Record>& records) {
  cycle_.emplace();
  bool lasts = true;  // No id of it is forgotten after its first run.
  for (const Record& record : records) {
    if (record.kind != RecordKind::kCycle) continue;
    cycle_->add(record.id, record.value != 0);
    lasts = lasts && known_[record.id].definition.slot != kNoSlot;
  }
  const Record& start = records.back();
  if (start.kind != RecordKind::kStartCycle || start.value != cycle_->hash() ||
      cycle_->batches() == 0 || !lasts) {
    return absl::InternalError(
        "the cycle in the schedule is not the one that the root made");
  }
  run_ = start.id;
  ++epoch_;
  sequence_ = 0;
  has_said_stop_ = false;
  // Marks of before count no more.
  for (auto& [id, known] : known_) {
    if (known.state != State::kMarked) continue;
    board_.withdraw(known.definition.slot);
    if (cycle_->contains(id)) {
      known.state = State::kInCycle;
      cycle_->submitted(id);
    } else {
      known.state = State::kDeferred;
      stop_cycle();
    }
  }
  if (halted_ == run_) messages_.emplace_back(Halted{run_, 0});
  return absl::OkStatus();
}

absl::Status RankProtocol::end_cycle(std::uint64_t executed) {
  // One more, which was abandoned.
  if (!cycle_ || cycle_->entered() < executed ||
      cycle_->entered() > executed + 1) {
    return absl::InternalError(
        absl::StrCat("the schedule ends a cycle after ", executed,
                     " batches, and this rank has entered ",
                     cycle_ ? cycle_->entered() : 0));
  }
  cycle_.reset();
  ++epoch_;
  sequence_ = 0;
  std::vector<std::uint32_t> waiting;
  for (const auto& [id, known] : known_) {
    if (known.state == State::kInCycle || known.state == State::kDeferred) {
      waiting.push_back(id);
    }
  }
  std::sort(waiting.begin(), waiting.end());
  for (const std::uint32_t id : waiting) mark(id, known_[id]);
  return absl::OkStatus();
}

void RankProtocol::enter_cycle_head() {
  if (halted_ == run_) return;
  if (!cycle_->head_is_ready()) return stop_cycle_if_waited_for();
  Batch batch = new_batch();
  for (const std::uint32_t id : cycle_->head()) {
    Known& known = known_[id];
    known.state = State::kExecuting;
    batch.entries.push_back({.agreed = known.definition.request});
    batch.participants = known.definition.participants;
    executing_ids_.push_back(id);
  }
  cycle_->enter_head();
  next_ = std::move(batch);
}

// Somebody may submit what the head still lacks only after the wait.
void RankProtocol::stop_cycle_if_waited_for() {
  drop_old_waits();
  if (!waited_for_.empty()) stop_cycle();
}

void RankProtocol::stop_cycle() {
  if (std::exchange(has_said_stop_, true)) return;
  messages_.emplace_back(Stop{run_});
}

bool RankProtocol::should_abandon() const {
  if (!executing_ || !cycle_ || halted_ != run_) return false;
  const std::vector<Record> records = board_.next_batch();
  return !records.empty() && records.front().kind == RecordKind::kEndCycle &&
         records.front().value < cycle_->entered();
}

std::size_t RankProtocol::submissions_to_next() const {
  const bool in_step = cycle_ && halted_ != run_ && !has_said_stop_;
  return in_step ? std::max<std::size_t>(cycle_->missing(), 1) : 1;
}

void RankProtocol::abandoned() {
  executing_ = false;
  for (const std::uint32_t id : executing_ids_) {
    known_[id].state = State::kDeferred;
  }
  executing_ids_.clear();
}

}  // namespace hvd::coordinator
