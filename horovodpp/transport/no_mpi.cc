// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi_communicator.h"

namespace hvd::transport {

bool mpi_is_built() { return false; }

bool mpi_is_running() { return false; }

absl::StatusOr<std::unique_ptr<Communicator>> make_mpi_communicator(
    const MpiOptions&) {
  return absl::FailedPreconditionError(
      "this build of horovodpp has no MPI, by which these ranks were started: "
      "build it with -DHVD_WITH_MPI=ON, or start them by horovodrun --no-mpi");
}

}  // namespace hvd::transport
