// SPDX-License-Identifier: Apache-2.0
// Finds the place in the kernel where a process waits that SIGKILL does not
// end.
#pragma once

#include <sys/types.h>

#include <string>

namespace hvd::launcher {

// Precedes the text below in messages about a process.
inline constexpr char kKillIsNoEnd[] = "SIGKILL does not end it, and its ";

// Describes a thread of the process, preferably one that cannot be interrupted:
// "thread 4711 is in state D (waits in the kernel), in nfs_wait_bit_killable,
// system call 0". The text is shorter if the system gives less information. The
// call does not block.
std::string where_it_waits(pid_t pid);

}  // namespace hvd::launcher
