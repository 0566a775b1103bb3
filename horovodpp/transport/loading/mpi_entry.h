// SPDX-License-Identifier: Apache-2.0
// The interface between the library and its MPI module. Both are built together
// and share these types, but no function.
#pragma once

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

struct MpiOptions {
  // The number of ranks that the launcher announced; 0: unknown.
  int expected_size = 0;
  // As LoopbackWorld::Options::ranks_per_node: lets a test have several nodes
  // on one machine.
  int ranks_per_node = 0;
  // How long the first call waits for the other ranks' calls. Does not limit
  // the time within MPI_Init.
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
};

struct MpiEntry {
  // Version of horovodpp; see ModuleFile.
  const char* version = nullptr;
  // Whether MPI is initialized and not finalized.
  bool (*is_running)() = nullptr;
  // See make_mpi_communicator() in mpi_module.h.
  absl::StatusOr<std::unique_ptr<Communicator>> (*make_communicator)(
      const MpiOptions& options) = nullptr;
};

// Name of the function that returns the MpiEntry; see ModuleFile::Function.
inline constexpr char kMpiEntry[] = "hvd_mpi_entry";

}  // namespace hvd::transport
