// SPDX-License-Identifier: Apache-2.0
// How the ranks of one machine find each other without MPI: every one listens
// on a Unix socket of the machine (abstract, so that nothing lies in a folder),
// whose name all of them know, and calls on those of lower ranks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/owned_descriptor.h"

namespace hvd::transport {

struct LocalMeeting {
  // Equal on all ranks, and no other job's. At most 60 bytes.
  std::string name;
  int rank = 0;
  int size = 1;
  std::chrono::steady_clock::time_point deadline;
};

// The connection to a rank, which does not block; none to oneself.
struct LocalPeer {
  OwnedDescriptor socket{};
  pid_t pid = 0;
};

// Meets all ranks; blocks.
//   DeadlineExceeded    not all came before the deadline; says who is missing
//   FailedPrecondition  another process is this rank already; or a rank runs
//                       another version
//   InvalidArgument     there is no such rank, or the name is too long
//   Internal            the system has no socket left
absl::StatusOr<std::vector<LocalPeer>> meet_locally(
    const LocalMeeting& meeting);

}  // namespace hvd::transport
