// SPDX-License-Identifier: Apache-2.0
// What an installation has, as Horovod's horovodrun --check-build prints it.
#pragma once

#include <string>

namespace hvd::launcher {

struct Installation {
  bool torch = false;  // The Python package, which is for PyTorch.
  bool mpi = false;    // The module for MPI.
};

// Of the horovodrun at `path`: what lies where CMake and pip install it, or where a
// build leaves it.
Installation installation_of(const std::string& path);

// In Horovod's words. What is not part of this project has an empty box.
std::string to_text(const Installation& installation,
                    const std::string& version);

}  // namespace hvd::launcher
