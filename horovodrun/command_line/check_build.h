// SPDX-License-Identifier: Apache-2.0
// The parts of an installation, as Horovod's horovodrun --check-build prints them, and
// below that with versions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hvd::launcher {

// The libraries that a job would load, by a path or a name that the dynamic linker knows.
struct GpuLibraries {
  std::string nccl = "libnccl.so.2";
  std::string cuda = "libcuda.so.1";
};

struct Installation {
  bool torch = false;  // The Python package, which is for PyTorch.
  bool mpi = false;    // A module for MPI.
  bool nccl = false;   // NCCL itself, which is no part of this project.
  // Each part and its version: {"MPI", "openmpi4: Open MPI v4.1.4"}.
  std::vector<std::pair<std::string, std::string>> parts = {};
};

// Of the horovodrun at `path`: what lies where CMake and pip install it, or where a
// build leaves it. Where there is no NCCL of that name, PyTorch may have brought it.
Installation installation_of(const std::string& path,
                             const GpuLibraries& libraries);

// In Horovod's words, then the parts. A part that this project lacks has an empty box.
std::string to_text(const Installation& installation,
                    const std::string& version);

}  // namespace hvd::launcher
