// SPDX-License-Identifier: Apache-2.0
// The state of another process of this host, seen from outside.
#pragma once

#include <cstdint>
#include <string>

namespace hvd::runtime {

// Why the process `pid` may not answer: "it is stopped (SIGSTOP or a
// debugger)", "it has ended"; empty if its state shows no reason. (proc(5),
// /proc/pid/stat)
std::string process_remark(std::int64_t pid);

}  // namespace hvd::runtime
