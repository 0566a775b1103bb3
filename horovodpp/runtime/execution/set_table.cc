// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/set_table.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {

using coordinator::ProcessSetId;
using coordinator::RequestKind;

SetTable::SetTable(int rank, int size, CreatorProcess home)
    : rank_(rank), home_(std::move(home)) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  add(coordinator::kGlobalSet, all);
}

void SetTable::add(ProcessSetId id, const std::vector<int>& ranks) {
  ProcessSet set(id, std::make_shared<const std::vector<int>>(ranks));
  const int position = position_in(ranks, rank_).value_or(-1);
  MutexLock lock(mutex_);
  entries_[id] = {.set = std::move(set), .position = position};
}

void SetTable::remove(ProcessSetId id) {
  MutexLock lock(mutex_);
  entries_.erase(id);
  changes_.fetch_add(1);
}

std::vector<ProcessSet> SetTable::all() const {
  if (!home_.is_here()) return {};
  MutexLock lock(mutex_);
  std::vector<ProcessSet> sets;
  for (const auto& [id, entry] : entries_) sets.push_back(entry.set);
  return sets;
}

SetTable::Entry* SetTable::entry_of(const ProcessSet& set) {
  const auto found = entries_.find(set.id());
  const bool is_it = found != entries_.end() && found->second.set == set;
  return is_it ? &found->second : nullptr;
}

absl::Status SetTable::check(const ProcessSet& set, const Entry* entry) const {
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(set.to_string(),
                     " does not exist, or no longer does; add it on every rank "
                     "before it is used"));
  }
  if (entry->position < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", rank_, " is not a member of ", entry->set.to_string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<ProcessSet> SetTable::find(const ProcessSet& set) {
  HVD_RETURN_IF_ERROR(home_.check());
  MutexLock lock(mutex_);
  const Entry* const entry = entry_of(set);
  if (entry == nullptr) return check(set, entry);
  return entry->set;
}

absl::StatusOr<SetPlace> SetTable::place_in(const ProcessSet& set) {
  HVD_RETURN_IF_ERROR(home_.check());
  MutexLock lock(mutex_);
  const Entry* const entry = entry_of(set);
  HVD_RETURN_IF_ERROR(check(set, entry));
  return SetPlace{.set = entry->set, .position = entry->position};
}

absl::Status SetTable::admit(const ProcessSet& set,
                             coordinator::Request& request) {
  HVD_RETURN_IF_ERROR(home_.check());
  MutexLock lock(mutex_);
  Entry* const found = entry_of(set);
  HVD_RETURN_IF_ERROR(check(set, found));
  Entry& entry = *found;
  if (entry.joined) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank_, " has joined ", entry.set.to_string(),
        " and may not submit until all ranks have; wait for its join "
        "before the next ",
        name_of(request.kind)));
  }
  if (request.kind == RequestKind::kJoin) {
    entry.joined = true;
    changes_.fetch_add(1);
  }
  if (request.key.name.empty()) {
    request.key.name = next_name(entry, request.kind);
    request.once = true;
  }
  return absl::OkStatus();
}

std::string SetTable::next_name(Entry& entry, RequestKind kind) {
  const std::string number = absl::StrCat(entry.unnamed[kind]++);
  return absl::StrCat(
      name_of(kind), ".noname.",
      entry.joins == 0 ? number : absl::StrCat(entry.joins, ".", number));
}

void SetTable::join_ended(ProcessSetId id, bool all_have_joined) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.joined = false;
  if (!all_have_joined) return;
  ++entry.joins;
  entry.unnamed.clear();
}

}  // namespace hvd::runtime
