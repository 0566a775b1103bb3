// SPDX-License-Identifier: Apache-2.0
// The ProcessSets of a job, as one rank knows them: which ranks belong to which
// set. Set 0 is the whole job and is always there. The root gives the numbers.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

class ProcessSets {
 public:
  using Ranks = std::shared_ptr<const std::vector<int>>;

  // `all`: the ranks of the job.
  explicit ProcessSets(Ranks all);

  // OK if a set of these ranks (in any order) can be added.
  //   InvalidArgument  no ranks, a rank twice, a rank that is not in the job
  //   AlreadyExists    there is one of the same ranks; says which
  absl::Status check(const std::vector<int>& ranks) const;

  // Adds a set, whose ranks check() has passed, under a number that is free.
  void add(ProcessSetId id, std::vector<int> ranks);

  // False if there is no such set, or if it is the global one.
  bool remove(ProcessSetId id);

  // The members, ascending; nullptr if there is no such set.
  Ranks ranks(ProcessSetId id) const;
  int size(ProcessSetId id) const;
  bool contains(ProcessSetId id, int rank) const;
  // The place of `rank` among the members; nullopt if it is not one.
  std::optional<int> position(ProcessSetId id, int rank) const;

  // Ascending.
  std::vector<ProcessSetId> ids() const;
  std::size_t count() const { return sets_.size(); }

 private:
  std::map<ProcessSetId, Ranks> sets_;
};

}  // namespace hvd::coordinator
