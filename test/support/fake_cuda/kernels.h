// SPDX-License-Identifier: Apache-2.0
// Kernels by name, run on the host: all threads of a grid run one after the
// other, with the code that is compiled for GPUs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace fake_cuda {

// Where a kernel may touch memory; nullptr: not allowed.
using Reach = std::function<std::byte*(const void* memory, std::size_t bytes)>;

struct Kernel {
  std::size_t parameter_bytes;
  // Returns false if the kernel would touch forbidden memory.
  bool (*run)(const void* parameter, unsigned blocks, const Reach& reach);
};

// nullptr: no kernel of this name.
const Kernel* find_kernel(const std::string& name);

}  // namespace fake_cuda
