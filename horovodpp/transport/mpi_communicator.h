// SPDX-License-Identifier: Apache-2.0
// Communicators over MPI. The header is plain C++, so that a build without MPI
// can stand in for it with no_mpi.cc.
#pragma once

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

struct MpiOptions {
  // The number of ranks the launcher promised; 0: not told.
  int expected_size = 0;
  // As LoopbackWorld::Options::ranks_per_node: a test's way to several nodes on
  // one machine.
  int ranks_per_node = 0;
  // How long the first call waits for the other ranks to make theirs. (What
  // MPI_Init itself waits for is beyond it.)
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
};

// Whether this library was built with MPI.
bool mpi_is_built();

// Whether MPI is initialized (and not finalized) in this process already.
bool mpi_is_running();

// Joins MPI_COMM_WORLD through a duplicate of our own. Initializes MPI if the
// program has not, and then finalizes it when the process exits normally,
// unless a peer was lost or distrust() was called; a program's own MPI is
// adopted and left alone.
// Callable again after the communicator is gone.
//   FailedPrecondition  built without MPI; MPI is finalized; the program
//                       initialized it below MPI_THREAD_SERIALIZED; the world's
//                       size is not `expected_size` (names the MPI library); an
//                       earlier communicator of this process still lives
//   DeadlineExceeded    not all ranks came before `deadline`
absl::StatusOr<std::unique_ptr<Communicator>> make_mpi_communicator(
    const MpiOptions& options);

// A job of one rank, without a launcher and without MPI.
std::unique_ptr<Communicator> make_solo_communicator();

}  // namespace hvd::transport
