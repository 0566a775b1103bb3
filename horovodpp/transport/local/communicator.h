// SPDX-License-Identifier: Apache-2.0
// A Communicator between processes of one machine, without MPI: Unix sockets
// carry the data that has no place in the ranks' shared memory.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

struct LocalOptions {
  // Name by which the ranks of this job find each other; see LocalMeeting.
  std::string rendezvous;
  int rank = 0;
  int size = 1;
  // As LoopbackWorld::Options::ranks_per_node.
  int ranks_per_node = 0;
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
};

// Meets the other ranks. May be called again after the communicator was
// destroyed; the ranks then meet again.
//   FailedPrecondition  this process was forked from a rank
//   (errors)            of meet_locally()
absl::StatusOr<std::unique_ptr<Communicator>> make_local_communicator(
    const LocalOptions& options);

}  // namespace hvd::transport
