// SPDX-License-Identifier: Apache-2.0
// A ProcessSet names some ranks of a job, so that a collective can be theirs
// alone. One with no ranks of its own is the global one: all ranks of whatever
// job it is used in.
//
//   hvd::StatusOr<hvd::ProcessSet> even = hvd::add_process_set({0, 2});
//   hvd::allreduce_(grad, {.name = "fc1.weight", .process_set = *even});
//
// A value: copies speak of the same set, and outlive it. What was removed is
// refused wherever it is used, also after its number was given again.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

class ProcessSet {
 public:
  using Ranks = std::shared_ptr<const std::vector<int>>;

  static ProcessSet global() { return {}; }

  ProcessSet() = default;
  // What the job counts as number `id`; its members ascend.
  ProcessSet(std::uint32_t id, Ranks ranks)
      : id_(id), ranks_(std::move(ranks)) {}

  // 0 for the global set. Equal on all ranks.
  std::uint32_t id() const { return id_; }
  bool is_global() const { return id_ == 0; }

  // The members, ascending; none of global(), which knows no job.
  const std::vector<int>& ranks() const;

  // "process set 2 [0, 1]", "the global process set".
  std::string to_string() const;

  friend bool operator==(const ProcessSet& a, const ProcessSet& b) {
    return a.id_ == b.id_ && (a.is_global() || a.ranks() == b.ranks());
  }

 private:
  std::uint32_t id_ = 0;
  Ranks ranks_;
};

}  // namespace hvd
