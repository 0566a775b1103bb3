// SPDX-License-Identifier: Apache-2.0
// A ProcessSet names some ranks of a job, for collectives among these alone.
// One without ranks is the global set: all ranks of the job in which it is
// used.
//
//   hvd::StatusOr<hvd::ProcessSet> even = hvd::add_process_set({0, 2});
//   hvd::allreduce_(grad, {.name = "fc1.weight", .process_set = *even});
//
// A value: copies denote the same set, and may outlive it. Every use of a
// removed set is refused, even if its number is reused.
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
  // The set with number `id` of the job; its members are in ascending order.
  ProcessSet(std::uint32_t id, Ranks ranks)
      : id_(id), ranks_(std::move(ranks)) {}

  // 0 for the global set. Equal on all ranks.
  std::uint32_t id() const { return id_; }
  bool is_global() const { return id_ == 0; }

  // The members, in ascending order; empty for global(), which knows no job.
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
