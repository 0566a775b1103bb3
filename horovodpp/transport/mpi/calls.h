// SPDX-License-Identifier: Apache-2.0
// Small helpers around MPI calls.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace hvd::transport {

// A message under way. In a list, so that its bytes stay where MPI knows them.
struct MpiMessage {
  int peer = 0;
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};
using MpiMessages = std::list<MpiMessage>;

// What an MPI call returned, as a Status: Internal "MPI_Isend: <text>". `peer` is the
// rank it had to do with, if that was one in particular.
absl::Status mpi_status(int code, const char* call,
                        std::optional<int> peer = std::nullopt);
// That rank.
std::optional<int> peer_of(const absl::Status& status);

// Whether anybody in this process has initialized MPI, and finalized it.
bool mpi_was_initialized();
bool mpi_was_finalized();
// The one, and not the other.
bool mpi_runs();

// The MPI library in a few words: "Open MPI v4.1.4".
std::string mpi_library();

// Polls a request until it is complete, or `check` says why nobody waits for it
// any more. After an error or DeadlineExceeded the request is still MPI's: its
// buffers must outlive the process.
absl::Status mpi_await(MPI_Request& request, const std::string& what,
                       std::chrono::steady_clock::time_point deadline,
                       const std::function<absl::Status()>& check);

}  // namespace hvd::transport
