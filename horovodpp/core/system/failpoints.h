// SPDX-License-Identifier: Apache-2.0
// Failpoints are named places in the code at which tests let a rank die, stop,
// fail or wait. A schedule says where, when and what:
//
//   HOROVODPP_FAILPOINTS="reform.agreed=kill@2;grow.met=delay:50%0.1;seed=7"
//
// Each entry is PLACE=ACTION, followed by any of @N, %P and #R:
//
//   kill       SIGKILL to this process        stop      SIGSTOP
//   exit:CODE  _exit(CODE)                    delay:MS  sleeps
//   error      the call returns Internal, where no peer relies on its success
//
//   @N  acts at the N-th pass only            %P  with probability P (seed=)
//   #R  only in the process that was started as rank R
//
// Entries are separated by semicolons or lines. "@PATH" reads them from a file,
// in which lines may be empty or begin with '#'.
//
// Without a schedule a failpoint costs one load. Thread-safe.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hvd {

enum class Failpoint {
  kInitMeeting,       // Before a rank meets the others.
  kInitMet,           // After the meeting, before the job starts.
  kReformBegun,       // A survivor has ended the broken job.
  kReformAgreed,      // The survivors have agreed who is left.
  kReformStarted,     // The next job has started, but is not entered.
  kGrowAdmitted,      // The rank knows of the growth.
  kGrowMet,           // The members of the growth are connected.
  kGrowStarted,       // The grown job has started here.
  kGrowFormed,        // The grown job is to replace the old one.
  kCollectiveBegun,   // A batch of tensors is about to be moved.
  kStreamSend,        // A frame to a peer, or its rest, is about to be sent.
  kSnapshotWrite,     // A part of a snapshot is about to be written.
  kSnapshotPart,      // It is in its file, which has not taken its name.
  kSnapshotManifest,  // All parts are there, and the manifest is not.
  kSnapshotRename,    // The snapshot is complete, and has not taken its name.
  kSnapshotClean,     // Older snapshots are about to be removed.
  kCount
};

// "reform.agreed".
const char* name_of(Failpoint place);

// Replaces the schedule of this process. `rank` is the number that it was
// started with. An empty text ends it.
//   NotFound         the file cannot be read
//   InvalidArgument  quotes the entry that cannot be read, and says why
absl::Status set_failpoints(std::string_view schedule, int rank);

namespace failpoints {
extern std::atomic<bool> are_set;
absl::Status pass(Failpoint place);
}  // namespace failpoints

// Acts as the schedule says. OK unless the action is an error.
inline absl::Status pass_failpoint(Failpoint place) {
  if (!failpoints::are_set.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  return failpoints::pass(place);
}

}  // namespace hvd
