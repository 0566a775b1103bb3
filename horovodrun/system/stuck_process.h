// SPDX-License-Identifier: Apache-2.0
// Where a process waits that SIGKILL does not end.
#pragma once

#include <sys/types.h>

#include <string>

namespace hvd::launcher {

// What to say before it of a process that is left alone.
inline constexpr char kKillIsNoEnd[] = "SIGKILL does not end it, and its ";

// Of one of its threads, first of one that cannot be interrupted: "thread 4711 is in
// state D (waits in the kernel), in nfs_wait_bit_killable, system call 0". Says less
// where the system tells less. Does not wait for the process.
std::string where_it_waits(pid_t pid);

}  // namespace hvd::launcher
