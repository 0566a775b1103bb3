// SPDX-License-Identifier: Apache-2.0
// Helpers around MPI calls.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace hvd::transport {

// A message in transfer. Kept in a list, so that its bytes stay at the address
// that MPI uses.
struct MpiMessage {
  int peer = 0;
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};
using MpiMessages = std::list<MpiMessage>;

// Converts the result of an MPI call: Internal "MPI_Isend: <text>". `peer` is
// the rank concerned, if any.
absl::Status mpi_status(int code, const char* call,
                        std::optional<int> peer = std::nullopt);
// The `peer` passed to mpi_status(), if any.
std::optional<int> peer_of(const absl::Status& status);

// Whether MPI was initialized, or finalized, anywhere in this process.
bool mpi_was_initialized();
bool mpi_was_finalized();
// Initialized and not finalized.
bool mpi_runs();

// Name and version of the MPI library: "Open MPI v4.1.4".
std::string mpi_library();

// Polls a request until it is complete, or until `check` returns an error that
// ends the wait. After an error or DeadlineExceeded, MPI still owns the
// request: its buffers must outlive the process.
absl::Status mpi_await(MPI_Request& request, const std::string& what,
                       std::chrono::steady_clock::time_point deadline,
                       const std::function<absl::Status()>& check);

}  // namespace hvd::transport
