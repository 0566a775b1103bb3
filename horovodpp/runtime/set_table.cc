// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/set_table.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {

using coordinator::ProcessSetId;
using coordinator::RequestKind;

SetTable::SetTable(int rank, int size) : rank_(rank) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  add(coordinator::kGlobalSet, all);
}

void SetTable::add(ProcessSetId id, const std::vector<int>& ranks) {
  ProcessSet set(id, std::make_shared<const std::vector<int>>(ranks));
  MutexLock lock(mutex_);
  entries_[id] = {.set = std::move(set)};
}

void SetTable::remove(ProcessSetId id) {
  MutexLock lock(mutex_);
  entries_.erase(id);
}

std::vector<ProcessSet> SetTable::all() const {
  MutexLock lock(mutex_);
  std::vector<ProcessSet> sets;
  for (const auto& [id, entry] : entries_) sets.push_back(entry.set);
  return sets;
}

absl::StatusOr<ProcessSet> SetTable::known(const ProcessSet& set) const {
  const auto found = entries_.find(set.id());
  // A number may have been given again, to other ranks.
  if (found == entries_.end() || !(found->second.set == set)) {
    return absl::InvalidArgumentError(
        absl::StrCat(set.to_string(),
                     " does not exist, or not any more; add it on every rank "
                     "before it is used"));
  }
  return found->second.set;
}

absl::StatusOr<ProcessSet> SetTable::find(const ProcessSet& set) const {
  MutexLock lock(mutex_);
  return known(set);
}

absl::StatusOr<SetPlace> SetTable::place_in(const ProcessSet& set) const {
  HVD_ASSIGN_OR_RETURN(ProcessSet found, find(set));
  const std::vector<int>& ranks = found.ranks();
  const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank_);
  if (place == ranks.end() || *place != rank_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", rank_, " is not a member of ", found.to_string()));
  }
  const int position = static_cast<int>(place - ranks.begin());
  return SetPlace{.set = std::move(found), .position = position};
}

absl::Status SetTable::admit(coordinator::Request& request) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(request.key.process_set);
  if (found == entries_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("process set ", request.key.process_set,
                     " has been removed; add it again first"));
  }
  Entry& entry = found->second;
  if (entry.joined) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank_, " has joined ", entry.set.to_string(),
                     " and takes no part until all have; wait for its join "
                     "before the next ",
                     name_of(request.kind)));
  }
  if (request.kind == RequestKind::kJoin) entry.joined = true;
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
