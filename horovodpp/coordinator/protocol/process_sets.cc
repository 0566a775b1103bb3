// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/process_sets.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

std::vector<int> sorted(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

ProcessSets::ProcessSets(Ranks all) { sets_[kGlobalSet] = std::move(all); }

absl::Status ProcessSets::check_ranks(const std::vector<int>& ranks) const {
  const std::vector<int> members = sorted(ranks);
  const std::string text = absl::StrCat("a process set of ranks [",
                                        absl::StrJoin(members, ", "), "]");
  if (members.empty()) {
    return absl::InvalidArgumentError(
        "a process set needs at least one rank; name its members");
  }
  const auto twice = std::adjacent_find(members.begin(), members.end());
  if (twice != members.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " names rank ", *twice, " twice"));
  }
  const int size = this->size(kGlobalSet);
  const int odd = members.front() < 0 ? members.front() : members.back();
  if (odd < 0 || odd >= size) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " names rank ", odd,
                     ", and the job's ranks are 0 to ", size - 1));
  }
  return absl::OkStatus();
}

absl::Status ProcessSets::check(const std::vector<int>& ranks) const {
  HVD_RETURN_IF_ERROR(check_ranks(ranks));
  const std::vector<int> members = sorted(ranks);
  for (const auto& [id, known] : sets_) {
    if (*known == members && of_members_.count(id) == 0) {
      return absl::AlreadyExistsError(
          absl::StrCat("a process set of ranks [", absl::StrJoin(members, ", "),
                       "] exists already: it is number ", id));
    }
  }
  return absl::OkStatus();
}

void ProcessSets::add(ProcessSetId id, std::vector<int> ranks,
                      bool is_of_members) {
  if (is_of_members) of_members_.insert(id);
  sets_[id] =
      std::make_shared<const std::vector<int>>(sorted(std::move(ranks)));
}

bool ProcessSets::remove(ProcessSetId id) {
  of_members_.erase(id);
  return id != kGlobalSet && sets_.erase(id) > 0;
}

ProcessSets::Ranks ProcessSets::ranks(ProcessSetId id) const {
  const auto found = sets_.find(id);
  return found == sets_.end() ? nullptr : found->second;
}

int ProcessSets::size(ProcessSetId id) const {
  const auto found = sets_.find(id);
  return found == sets_.end() ? 0 : static_cast<int>(found->second->size());
}

bool ProcessSets::contains(ProcessSetId id, int rank) const {
  return position(id, rank).has_value();
}

std::optional<int> ProcessSets::position(ProcessSetId id, int rank) const {
  const auto found = sets_.find(id);
  if (found == sets_.end()) return std::nullopt;
  return position_in(*found->second, rank);
}

std::vector<ProcessSetId> ProcessSets::ids() const {
  std::vector<ProcessSetId> ids;
  for (const auto& [id, ranks] : sets_) ids.push_back(id);
  return ids;
}

}  // namespace hvd::coordinator
