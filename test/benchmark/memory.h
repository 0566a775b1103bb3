// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a measurement lie.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"

namespace hvd::benchmark {

enum class MemoryKind {
  kForeign,  // Any memory of this process,
  kArena,    // of the current Runtime's arena.
};

// Ends with whoever holds it.
using Memory = std::shared_ptr<std::byte>;

//   ResourceExhausted  there is not as much
absl::StatusOr<Memory> allocate(MemoryKind kind, std::size_t bytes);

}  // namespace hvd::benchmark
