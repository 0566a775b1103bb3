// SPDX-License-Identifier: Apache-2.0
// What can be seen of another process of this machine from outside.
#pragma once

#include <cstdint>
#include <string>

namespace hvd::runtime {

// Why the process `pid` may not answer: "it is stopped (SIGSTOP or a debugger)",
// "it has ended"; empty if nothing is to be seen. (proc(5), /proc/pid/stat)
std::string process_remark(std::int64_t pid);

}  // namespace hvd::runtime
