// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/messages/match_table.h"

#include <algorithm>

namespace hvd::runtime {

using coordinator::Submission;
using coordinator::SubmissionPtr;

namespace {

bool fits(const Submission& receive, int from) {
  return receive.peer == coordinator::kAnyRank || receive.peer == from;
}

}  // namespace

std::optional<Match> MatchTable::offer(Offered offered) {
  const Place place = {offered.process_set, offered.tag};
  Line& line = lines_[place];
  const auto found = std::find_if(
      line.wanted.begin(), line.wanted.end(), [&](const Wanted& wanted) {
        return fits(*wanted.submission, offered.from);
      });
  if (found == line.wanted.end()) {
    line.offered.push_back(std::move(offered));
    return std::nullopt;
  }
  Match match = {std::move(*found), std::move(offered)};
  line.wanted.erase(found);
  --wanted_;
  if (line.wanted.empty() && line.offered.empty()) lines_.erase(place);
  return match;
}

std::optional<Match> MatchTable::want(Wanted wanted) {
  const Submission& receive = *wanted.submission;
  const Place place = {receive.request.key.process_set, receive.tag};
  Line& line = lines_[place];
  const auto found = std::find_if(
      line.offered.begin(), line.offered.end(),
      [&](const Offered& offered) { return fits(receive, offered.from); });
  if (found == line.offered.end()) {
    line.wanted.push_back(std::move(wanted));
    ++wanted_;
    return std::nullopt;
  }
  Match match = {std::move(wanted), std::move(*found)};
  line.offered.erase(found);
  if (line.wanted.empty() && line.offered.empty()) lines_.erase(place);
  return match;
}

std::vector<Wanted> MatchTable::all_wanted() const {
  std::vector<Wanted> all;
  for (const auto& [place, line] : lines_) {
    all.insert(all.end(), line.wanted.begin(), line.wanted.end());
  }
  return all;
}

std::vector<SubmissionPtr> MatchTable::drop(
    std::optional<coordinator::ProcessSetId> set) {
  std::vector<SubmissionPtr> dropped;
  absl::erase_if(lines_, [&](const auto& entry) {
    const auto& [place, line] = entry;
    if (set && place.first != *set) return false;
    for (const Wanted& wanted : line.wanted) {
      dropped.push_back(wanted.submission);
    }
    for (const Offered& offered : line.offered) {
      if (offered.own != nullptr) dropped.push_back(offered.own);
    }
    wanted_ -= line.wanted.size();
    return true;
  });
  return dropped;
}

}  // namespace hvd::runtime
