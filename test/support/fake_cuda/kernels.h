// SPDX-License-Identifier: Apache-2.0
// Kernels by their names, run by the host: what all threads of a grid do, one after the
// other, by the code that is compiled for GPUs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace fake_cuda {

// Where a kernel may touch memory; nullptr: it may not.
using Reach = std::function<std::byte*(const void* memory, std::size_t bytes)>;

struct Kernel {
  std::size_t parameter_bytes;
  // False if it would touch what it may not.
  bool (*run)(const void* parameter, unsigned blocks, const Reach& reach);
};

// nullptr: there is none of this name.
const Kernel* find_kernel(const std::string& name);

}  // namespace fake_cuda
