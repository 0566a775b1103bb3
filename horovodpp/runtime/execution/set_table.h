// SPDX-License-Identifier: Apache-2.0
// The SetTable is one rank's view of the job's process sets: the sets, its
// position in each, and the number of its unnamed calls there.
//
// The schedule adds and removes sets, on the thread that drives the runtime.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/core/job/creator_process.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::runtime {

// This rank's position in a set it belongs to.
struct SetPlace {
  ProcessSet set;
  int position = 0;  // Among the set's ranks.

  int size() const { return static_cast<int>(set.ranks().size()); }
};

class SetTable {
 public:
  // Contains the global set of `size` ranks. In a forked child all lookups fail
  // with `home`'s error, and lock nothing.
  SetTable(int rank, int size, CreatorProcess home = CreatorProcess("a rank"));
  const CreatorProcess& home() const { return home_; }

  // `ranks` are in ascending order.
  void add(coordinator::ProcessSetId id, const std::vector<int>& ranks);
  void remove(coordinator::ProcessSetId id);

  // All sets, by number; none in a forked child.
  std::vector<ProcessSet> all() const;

  // `set` with its ranks, also if it is the global one.
  //   InvalidArgument  no such set, or it was removed
  absl::StatusOr<ProcessSet> find(const ProcessSet& set);

  // Grows with each removed set and each join: requests admitted before must be
  // admitted again.
  std::uint64_t changes() const { return changes_.load(); }

  //   InvalidArgument  there is no such set, or this rank is not in it
  absl::StatusOr<SetPlace> place_in(const ProcessSet& set);

  // Admits a request of `set` just before it is queued, and numbers it if it
  // has no name.
  //   InvalidArgument     there is no such set, or this rank is not in it
  //   FailedPrecondition  this rank has joined the set
  absl::Status admit(const ProcessSet& set, coordinator::Request& request);

  // Records that this rank's join of the set `id` has its outcome. Once all
  // ranks have joined, the numbers of unnamed calls start again: the ranks may
  // have made different numbers of calls.
  void join_ended(coordinator::ProcessSetId id, bool all_have_joined);

 private:
  struct Entry {
    ProcessSet set;
    int position = -1;  // This rank's among the members, or -1.
    bool joined = false;
    std::uint64_t joins = 0;  // Joins by every rank of the set.
    std::map<coordinator::RequestKind, std::uint64_t> unnamed = {};
  };
  static std::string next_name(Entry& entry, coordinator::RequestKind kind);
  // The entry of `set`; nullptr if there is none. Compares the ranks, because a
  // number may be reused.
  Entry* entry_of(const ProcessSet& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status check(const ProcessSet& set, const Entry* entry) const;

  const int rank_;
  const CreatorProcess home_;
  std::atomic<std::uint64_t> changes_{0};
  mutable Mutex mutex_;
  std::map<coordinator::ProcessSetId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::runtime
