// SPDX-License-Identifier: Apache-2.0
// Snapshots are copies of a job's state on disk, from which it can start again
// after all of its ranks were lost, with any number of ranks.
//
//   auto snapshots = hvd::value_or_throw(
//       hvd::snapshot::Snapshots::open({.directory = "/data/run7"}));
//   const auto newest = hvd::value_or_throw(snapshots->load_newest());
//   if (newest) step = restore_from(*newest);
//   while (step < 1000) {
//     ...
//     if (++step % 100 == 0) {
//       hvd::throw_if_error(snapshots->save(step, {{"w", w.data(), bytes}}));
//     }
//   }
//   hvd::throw_if_error(snapshots->finish());
//
// The state is equal on all ranks, so each rank writes a part of its bytes: it
// copies the part, and a thread writes it while the training goes on. A
// snapshot exists when all parts are on the disk, or not at all. Files that a lost
// rank has left are never taken for a snapshot, and are removed.
//
// All ranks reach the folder, unless each host has its own (`each_host`). Folders
// of several Snapshots differ.
//
// May outlive jobs: after reform() or grow() it goes on in the next one. Not
// thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/snapshot/snapshot.h"

namespace HVD_EXPORT hvd {
namespace snapshot {

// A value of the state. Its bytes are read during save().
struct NamedBytes {
  std::string name;
  const void* data = nullptr;
  std::size_t size = 0;
};

struct SnapshotOptions {
  std::string directory;  // Created if it is missing.
  // The folder is each host's own, in its memory (/dev/shm) or on its disk. Each
  // host keeps whole snapshots, so they outlive all processes, and all hosts but
  // one. Hosts without a copy get it from the others when it is loaded.
  bool each_host = false;
  int keep = 2;  // Newest snapshots that stay.
  // save() may take this share of the time: a call that would take more, since
  // the last one was a short time ago, is skipped. 1: none is.
  double share_of_time = 0.05;
  std::string name = "snapshot";  // Of its collectives.
};

struct SnapshotStats {
  std::int64_t begun = 0;
  std::int64_t skipped = 0;  // Too early, or the one before was being written.
  std::int64_t failed = 0;   // On this rank, after they had begun.
  double save_seconds = 0;   // The time of all save() calls.
  double write_seconds = 0;  // The time of the writing thread.
  std::uint64_t bytes = 0;   // Written by this rank.
};

class Snapshots {
 public:
  //   InvalidArgument  an option makes no sense
  //   (others)         the folder cannot be created
  static StatusOr<std::unique_ptr<Snapshots>> open(
      const SnapshotOptions& options);
  // Waits as finish().
  ~Snapshots();

  // Begins to write the state, unless it is too early: then all ranks skip it.
  // Every rank calls it, with the same step, names and sizes; `note` is the
  // program's own. A snapshot that fails later, for
  // instance as the disk is full, is a warning in the log, and is counted;
  // earlier snapshots stay.
  //   InvalidArgument     the step is negative, or the ranks' steps, names or
  //                       sizes differ
  //   FailedPrecondition  there is no job
  //   (others)            the job is broken
  Status save(std::int64_t step, const std::vector<NamedBytes>& values,
              const std::string& note = "");

  // Waits until this rank's part of the last snapshot is written, and on rank
  // 0 (with `each_host` on the first rank of each host) until the snapshot is
  // complete. Returns how that ended. Call it before this rank leaves the job.
  Status finish();

  // The newest snapshot that a rank can read, or none; other ranks get it from
  // that rank. Snapshots that no rank can read are passed over, with a warning
  // that names the file. Every rank calls it.
  //   (errors)  there is no job, or it is broken
  StatusOr<std::optional<Snapshot>> load_newest();

  SnapshotStats stats() const;

 private:
  struct State;
  explicit Snapshots(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace snapshot
}  // namespace hvd
