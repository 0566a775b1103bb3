// SPDX-License-Identifier: Apache-2.0
// Communicators over MPI, for the module's entry point (module.cc) and for
// tests.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/loading/mpi_entry.h"

namespace hvd::transport {

// Implements make_mpi_communicator() (transport/loading/mpi_module.h) within this
// module.
absl::StatusOr<std::unique_ptr<Communicator>> join_mpi_world(
    const MpiOptions& options);

}  // namespace hvd::transport
