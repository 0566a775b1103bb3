// SPDX-License-Identifier: Apache-2.0
// `horovodrun --print-stacks PID THREAD SIGNAL`, which a crashing process
// starts (preloaded/crash_handler.cc): prints the stacks of all its threads by
// gdb or eu-stack.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

inline constexpr char kPrintStacks[] = "--print-stacks";

// Prints to standard error. Returns the exit code: 0 if there are stacks.
int print_stacks(const std::vector<std::string>& words,
                 const Environment& environment);

// The command of the first installed debugger; empty: none is.
std::vector<std::string> debugger_command(const std::string& pid,
                                          const Environment& environment);
// The lines of a debugger's output from the first stack on; all lines if there
// is no stack.
std::string without_remarks(absl::string_view output);

}  // namespace hvd::launcher
