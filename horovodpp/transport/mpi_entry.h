// SPDX-License-Identifier: Apache-2.0
// What the module for MPI shows to the library, and all that it shows. The two are
// built together: they share these types, and nothing else, not even a function.
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

struct MpiEntry {
  // Of horovodpp; first, so that any two versions find it.
  const char* version = nullptr;
  // Whether MPI is initialized, and not finalized.
  bool (*is_running)() = nullptr;
  // See make_mpi_communicator() in mpi_module.h.
  absl::StatusOr<std::unique_ptr<Communicator>> (*make_communicator)(
      const MpiOptions& options) = nullptr;
};

// The name of the function that returns it.
inline constexpr char kMpiEntry[] = "hvd_mpi_entry";
using MpiEntryFunction = const MpiEntry*();

}  // namespace hvd::transport
