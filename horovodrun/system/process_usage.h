// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace hvd::launcher {

struct ProcessUsage {
  std::int64_t cpu_ms = 0;
  std::int64_t resident_kib = 0;  // Shared memory counts for each process.
};

// The use of a process and its descendants, from /proc. Reads few files:
// children of a process's further threads are left out, and so are further
// processes than 256.
ProcessUsage usage_of_tree(pid_t root);

}  // namespace hvd::launcher
