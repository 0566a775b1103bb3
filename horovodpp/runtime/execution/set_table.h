// SPDX-License-Identifier: Apache-2.0
// The SetTable is what the callers of one rank know of the job's process sets:
// which there are, where this rank stands in them, and how many calls without a
// name it has made there.
//
// Sets come and go as the schedule says, on the thread that drives the runtime.
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
#include "horovodpp/coordinator/request.h"
#include "horovodpp/core/home_process.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::runtime {

// Where this rank is in a set it belongs to.
struct SetPlace {
  ProcessSet set;
  int position = 0;  // Among the set's ranks.

  int size() const { return static_cast<int>(set.ranks().size()); }
};

class SetTable {
 public:
  // Knows the global set of `size` ranks. In a child that is forked off, who asks for
  // something is refused as `home` says, and nothing is locked.
  SetTable(int rank, int size, HomeProcess home = HomeProcess("a rank"));
  const HomeProcess& home() const { return home_; }

  // `ranks` ascend.
  void add(coordinator::ProcessSetId id, const std::vector<int>& ranks);
  void remove(coordinator::ProcessSetId id);

  // All sets, by number; none in a child.
  std::vector<ProcessSet> all() const;

  // `set` with its ranks, also if it is the global one.
  //   InvalidArgument  there is no such set, or none any more
  absl::StatusOr<ProcessSet> find(const ProcessSet& set);

  // Grows with each set that goes and each join: what was admitted is to be
  // admitted again.
  std::uint64_t changes() const { return changes_.load(); }

  //   InvalidArgument  there is no such set, or this rank is not in it
  absl::StatusOr<SetPlace> place_in(const ProcessSet& set);

  // The last step before a request of `set` is queued: numbers it if it has no
  // name.
  //   InvalidArgument     there is no such set, or this rank is not in it
  //   FailedPrecondition  this rank has joined the set
  absl::Status admit(const ProcessSet& set, coordinator::Request& request);

  // The join of this rank on the set `id` has its outcome. Where all ranks have
  // joined, numbers begin anew: they may have made differently many calls.
  void join_ended(coordinator::ProcessSetId id, bool all_have_joined);

 private:
  struct Entry {
    ProcessSet set;
    int position = -1;  // Of this rank among its members; -1: it is none.
    bool joined = false;
    std::uint64_t joins = 0;  // That every rank of the set took part in.
    std::map<coordinator::RequestKind, std::uint64_t> unnamed = {};
  };
  static std::string next_name(Entry& entry, coordinator::RequestKind kind);
  // Of `set`; nullptr where there is none. A number may have been given again, to
  // other ranks.
  Entry* entry_of(const ProcessSet& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status check(const ProcessSet& set, const Entry* entry) const;

  const int rank_;
  const HomeProcess home_;
  std::atomic<std::uint64_t> changes_{0};
  mutable Mutex mutex_;
  std::map<coordinator::ProcessSetId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::runtime
