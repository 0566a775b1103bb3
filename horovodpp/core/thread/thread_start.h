// SPDX-License-Identifier: Apache-2.0
// Starts the library's own threads.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace hvd {

// Starts a thread that runs `body` with all signals blocked. Signals belong to
// the program's threads; a handler here could interrupt any library code.
//   ResourceExhausted  the system has no more threads; `what` completes "the
//                      thread that ...", as in "watches the other ranks"
absl::StatusOr<std::thread> start_thread(const std::string& what,
                                         std::function<void()> body);

}  // namespace hvd
