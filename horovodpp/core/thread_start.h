// SPDX-License-Identifier: Apache-2.0
// Threads of the library's own.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace hvd {

// A thread that runs `body` with all signals blocked: they are for the program's
// threads, whose handlers would run in the middle of anything here.
//   ResourceExhausted  the system gives none; `what` completes "the thread that
//                      ...", as in "watches the other ranks"
absl::StatusOr<std::thread> start_thread(const std::string& what,
                                         std::function<void()> body);

}  // namespace hvd
