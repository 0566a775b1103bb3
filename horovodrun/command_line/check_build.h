// SPDX-License-Identifier: Apache-2.0
// The parts of an installation, in the format of Horovod's horovodrun
// --check-build, followed by versions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hvd::launcher {

// The libraries that a job would load: paths or names that the dynamic linker
// knows.
struct GpuLibraries {
  std::string nccl = "libnccl.so.2";
  std::string cuda = "libcuda.so.1";
};

struct Installation {
  bool torch = false;  // The Python package, which is for PyTorch.
  bool mpi = false;    // A module for MPI.
  bool nccl = false;   // NCCL itself, which is not a part of this project.
  // Each part and its version: {"MPI", "openmpi4: Open MPI v4.1.4"}.
  std::vector<std::pair<std::string, std::string>> parts = {};
};

// The installation of the horovodrun at `path`: looks where CMake and pip
// install files, or a build leaves them. If there is no NCCL of that name, it
// looks for PyTorch's.
Installation installation_of(const std::string& path,
                             const GpuLibraries& libraries);

// The GPUs that CUDA's driver finds, by the library of that name; 0: none, or
// no driver.
int gpu_count(const std::string& cuda_library);

// The text in Horovod's format, followed by the parts. A missing part has an
// empty box.
std::string to_text(const Installation& installation,
                    const std::string& version);

// The version of the launcher, with its commit if git knew one:
// "0.1.0+12.g4f7248f".
const char* described_version();
// The version of oneDNN that the library was built with, or that it was built
// without.
const char* built_with_dnnl();

}  // namespace hvd::launcher
