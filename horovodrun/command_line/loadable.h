// SPDX-License-Identifier: Apache-2.0
// Versions of shared libraries that this program does not link. A child process loads
// each of them.
#pragma once

#include <string>

namespace hvd::launcher {

// `text` is the version, or why there is none.
struct LibraryVersion {
  bool is_there = false;
  std::string text;
};

// Of NCCL's library: "2.27.3".
LibraryVersion version_of_nccl(const std::string& library);
// Of CUDA's driver: "12.4", the newest CUDA that it runs.
LibraryVersion version_of_cuda_driver(const std::string& library);
// Of the MPI that the library needs: "Open MPI v4.1.4, package: …".
LibraryVersion version_of_mpi_below(const std::string& library);

}  // namespace hvd::launcher
