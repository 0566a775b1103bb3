#include "horovodpp/coordinator/registrar.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/fusion_planner.h"
#include "horovodpp/coordinator/node_board.h"

namespace hvd::coordinator {

Registrar::Registrar(const Options& options)
    : options_(options), has_left_(static_cast<std::size_t>(options.ranks)) {
  for (std::uint32_t slot = options.capacity; slot-- > 0;) {
    free_slots_.push_back(slot);
  }
}

absl::Status Registrar::propose(int from, const Request& request) {
  if (left_ > 0) return absl::OkStatus();  // The schedule tells the proposer.
  const auto known = id_of_.find(request.name);
  if (known != id_of_.end()) retire(known->second);
  Proposals& proposals = proposals_[request.name];
  proposals.by_rank.resize(static_cast<std::size_t>(options_.ranks));
  auto& mine = proposals.by_rank[static_cast<std::size_t>(from)];
  if (mine.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", from, " proposed '", request.name, "' twice"));
  }
  mine = request;
  if (++proposals.count == options_.ranks) {
    auto complete = proposals_.extract(request.name);
    decide(complete.key(), complete.mapped());
  }
  return absl::OkStatus();
}

void Registrar::decide(const std::string& name, const Proposals& proposals) {
  const Request& first = *proposals.by_rank.front();
  for (int rank = 1; rank < options_.ranks; ++rank) {
    const Request& other = *proposals.by_rank[static_cast<std::size_t>(rank)];
    if (const auto why = find_mismatch(0, first, rank, other)) {
      announcements_.emplace_back(Reject{name, *why});
      return;
    }
  }
  const std::uint32_t id = next_id_++;
  const std::uint32_t slot = first.once ? kNoSlot : take_slot();
  if (slot != kNoSlot) {
    live_[id] = {.request = first, .slot = slot};
    id_of_[name] = id;
  }
  announcements_.emplace_back(Define{id, slot, first});
  enqueue_run(id, first);
}

// A free place on the board. Where there is none the id serves once, and the
// least recently executed one starts to give way: it takes until all ranks have
// passed its retirement, and nobody waits for that.
std::uint32_t Registrar::take_slot() {
  if (!free_slots_.empty()) {
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  const auto oldest = std::min_element(
      live_.begin(), live_.end(), [](const auto& a, const auto& b) {
        return a.second.last_run < b.second.last_run;
      });
  if (oldest != live_.end()) retire(oldest->first);
  return kNoSlot;
}

void Registrar::retire(std::uint32_t id) {
  const auto found = live_.find(id);
  retired_[id] = {
      .slot = found->second.slot,
      .passed_by = std::vector<bool>(static_cast<std::size_t>(options_.ranks))};
  id_of_.erase(found->second.request.name);
  live_.erase(found);
  queue_.push_back({.record = {RecordKind::kRetire, id, true}, .request = {}});
}

absl::Status Registrar::passed(int from, std::uint32_t id) {
  const auto found = retired_.find(id);
  if (found == retired_.end() ||
      found->second.passed_by[static_cast<std::size_t>(from)]) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", from, " passed id ", id, ", which is not being retired"));
  }
  found->second.passed_by[static_cast<std::size_t>(from)] = true;
  if (++found->second.passed == options_.ranks) {
    free_slots_.push_back(found->second.slot);
    retired_.erase(found);
  }
  return absl::OkStatus();
}

void Registrar::ready(std::uint32_t id) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  if (++found->second.nodes_ready < options_.nodes) return;
  found->second.nodes_ready = 0;
  found->second.last_run = ++runs_;
  enqueue_run(id, found->second.request);
}

void Registrar::enqueue_run(std::uint32_t id, const Request& request) {
  if (left_ > 0) return;  // Behind a kLeave nothing runs.
  queue_.push_back(
      {.record = {RecordKind::kRun, id, true}, .request = request});
  queued_bytes_ += request.bytes();
}

absl::Status Registrar::leave(int from) {
  if (has_left_[static_cast<std::size_t>(from)]) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", from, " left twice"));
  }
  has_left_[static_cast<std::size_t>(from)] = true;
  if (left_++ == 0) {
    proposals_.clear();
    queue_.push_back(
        {.record = {RecordKind::kLeave, static_cast<std::uint32_t>(from), true},
         .request = {}});
  }
  return absl::OkStatus();
}

std::vector<Message> Registrar::take_announcements() {
  return std::exchange(announcements_, {});
}

// How many of the queue's first entries are runs; fusion does not look beyond
// them.
std::size_t Registrar::leading_runs() const {
  std::size_t runs = 0;
  while (runs < queue_.size() && runs < kMaxAppend && queue_[runs].is_run()) {
    ++runs;
  }
  return runs;
}

std::vector<Record> Registrar::cut(Clock::TimePoint now) {
  if (queue_.empty()) return {};
  if (!waiting_since_) waiting_since_ = now;
  const std::size_t runs = leading_runs();
  const bool only_runs = runs == queue_.size();
  if (only_runs && queued_bytes_ < options_.fusion_threshold &&
      now < *waiting_since_ + options_.hold_back) {
    return {};
  }
  waiting_since_.reset();
  if (runs == 0) {
    const Record record = queue_.front().record;
    queue_.pop_front();
    return {record};
  }
  std::vector<const Request*> requests;
  for (std::size_t i = 0; i < runs; ++i) {
    requests.push_back(&queue_[i].request);
    queued_bytes_ -= queue_[i].request.bytes();
  }
  std::vector<Record> records;
  for (const auto& batch :
       plan_fusion(requests, options_.fusion_threshold, kMaxAppend)) {
    for (std::size_t index : batch) {
      records.push_back({RecordKind::kRun, queue_[index].record.id, false});
    }
    records.back().ends_batch = true;
  }
  queue_.erase(queue_.begin(),
               queue_.begin() + static_cast<std::ptrdiff_t>(runs));
  return records;
}

std::optional<Clock::TimePoint> Registrar::held_until() const {
  if (!waiting_since_) return std::nullopt;
  return *waiting_since_ + options_.hold_back;
}

}  // namespace hvd::coordinator
