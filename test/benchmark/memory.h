// SPDX-License-Identifier: Apache-2.0
// The memory for the tensors of a measurement.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"

namespace hvd::benchmark {

enum class MemoryKind {
  kForeign,  // Ordinary memory of this process.
  kArena,    // In the current Runtime's arena.
};

// Freed with the last holder.
using Memory = std::shared_ptr<std::byte>;

//   ResourceExhausted  out of memory
absl::StatusOr<Memory> allocate(MemoryKind kind, std::size_t bytes);

}  // namespace hvd::benchmark
