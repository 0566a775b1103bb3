// SPDX-License-Identifier: Apache-2.0
// Rendezvous of the ranks of one machine without MPI. Every rank listens on a
// Unix socket with a name that all ranks know, and connects to all lower ranks.
// The socket is abstract, so no file is left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {

struct LocalMeeting {
  // Equal on all ranks, and unique to the job. At most 60 bytes.
  std::string name;
  int rank = 0;
  int size = 1;
  std::chrono::steady_clock::time_point deadline;
};

// The connection to a rank (non-blocking); none to this rank itself.
struct LocalPeer {
  OwnedDescriptor socket{};
  pid_t pid = 0;
};

// Meets all ranks; blocks.
//   DeadlineExceeded    ranks were missing at the deadline; names them
//   FailedPrecondition  another process already is this rank; or a rank runs
//                       another version
//   InvalidArgument     there is no such rank, or the name is too long
//   Internal            the system has no socket left
absl::StatusOr<std::vector<LocalPeer>> meet_locally(
    const LocalMeeting& meeting);

}  // namespace hvd::transport
