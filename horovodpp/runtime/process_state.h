// SPDX-License-Identifier: Apache-2.0
// What can be seen of another process of this machine from outside, and how this
// one came about.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace hvd::runtime {

// Why the process `pid` may not answer: "it is stopped (SIGSTOP or a debugger)",
// "it has ended"; empty if nothing is to be seen. (proc(5), /proc/pid/stat)
std::string process_remark(std::int64_t pid);

namespace internal {
extern std::atomic<unsigned> forks;
}

// Differs between a process and a child that it forks after the first call of
// count_forks(), which returns the same. A load, where getpid() asks the kernel.
inline unsigned forks_so_far() {
  return internal::forks.load(std::memory_order_relaxed);
}
unsigned count_forks();

}  // namespace hvd::runtime
