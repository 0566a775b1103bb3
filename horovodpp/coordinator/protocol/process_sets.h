// SPDX-License-Identifier: Apache-2.0
// The ProcessSets of a job as one rank knows them: the ranks of each set. Set 0
// is the whole job and always exists. The root assigns the numbers.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/request.h"

namespace hvd::coordinator {

class ProcessSets {
 public:
  using Ranks = std::shared_ptr<const std::vector<int>>;

  // `all`: the ranks of the job.
  explicit ProcessSets(Ranks all);

  // OK if these ranks, in any order, can be a set.
  //   InvalidArgument  no ranks, a duplicate rank, a rank outside the job
  absl::Status check_ranks(const std::vector<int>& ranks) const;
  // The same, and no other set that all ranks added has these ranks.
  //   AlreadyExists    a set of the same ranks exists; the message names it
  absl::Status check(const std::vector<int>& ranks) const;

  // Adds a set under a free number. `ranks` have passed check(), or
  // check_ranks() if the set `is_of_members`: its members alone created it, and
  // a key tells it apart from sets of the same ranks.
  void add(ProcessSetId id, std::vector<int> ranks, bool is_of_members = false);

  // False if the set does not exist or is the global one.
  bool remove(ProcessSetId id);

  // The members, ascending; nullptr if the set does not exist.
  Ranks ranks(ProcessSetId id) const;
  int size(ProcessSetId id) const;
  bool contains(ProcessSetId id, int rank) const;
  // The index of `rank` among the members; nullopt if not a member.
  std::optional<int> position(ProcessSetId id, int rank) const;

  // Ascending.
  std::vector<ProcessSetId> ids() const;
  std::size_t count() const { return sets_.size(); }

 private:
  std::map<ProcessSetId, Ranks> sets_;
  std::set<ProcessSetId> of_members_;
};

}  // namespace hvd::coordinator
