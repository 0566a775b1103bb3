// SPDX-License-Identifier: Apache-2.0
// What an installation has, as Horovod's horovodrun --check-build prints it.
#pragma once

#include <string>

namespace hvd::launcher {

struct Installation {
  bool torch = false;  // The Python package, which is for PyTorch.
  bool mpi = false;    // The module for MPI.
  bool nccl = false;   // NCCL itself, which is no part of this project.
};

// Of the horovodrun at `path`: what lies where CMake and pip install it, or where a
// build leaves it. `nccl` is NCCL's library, by a path or a name that the dynamic linker
// knows; where there is none, PyTorch may have brought it.
Installation installation_of(const std::string& path, const std::string& nccl);

// In Horovod's words. What is not part of this project has an empty box.
std::string to_text(const Installation& installation,
                    const std::string& version);

}  // namespace hvd::launcher
