// SPDX-License-Identifier: Apache-2.0
// A Communicator between processes of one machine that needs no MPI: Unix
// sockets, which carry what has no place in the memory that the ranks share.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

struct LocalOptions {
  // By which the ranks of this job find each other; see LocalMeeting.
  std::string rendezvous;
  int rank = 0;
  int size = 1;
  // As LoopbackWorld::Options::ranks_per_node.
  int ranks_per_node = 0;
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
};

// Meets the other ranks. Callable again once the communicator is gone: the
// ranks then meet anew.
//   FailedPrecondition  this process was forked from one that is a rank; and
//                       the errors of meet_locally()
absl::StatusOr<std::unique_ptr<Communicator>> make_local_communicator(
    const LocalOptions& options);

}  // namespace hvd::transport
