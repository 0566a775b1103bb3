// SPDX-License-Identifier: Apache-2.0
// Versions of shared libraries that this program does not link. A child process
// loads each of them.
#pragma once

#include <string>

namespace hvd::launcher {

// `text` is the version, or the reason why there is none.
struct LibraryVersion {
  bool is_there = false;
  std::string text;
};

// NCCL's version: "2.27.3".
LibraryVersion version_of_nccl(const std::string& library);
// The newest CUDA that the driver supports: "12.4".
LibraryVersion version_of_cuda_driver(const std::string& library);
// The version of the MPI that the library needs: "Open MPI v4.1.4, package: …".
LibraryVersion version_of_mpi_below(const std::string& library);

}  // namespace hvd::launcher
