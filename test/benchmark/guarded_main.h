// SPDX-License-Identifier: Apache-2.0
// Runs a benchmark's main, and reports an exception with the program's name.
//
//   int main(int argc, char** argv) {
//     return hvd::benchmark::guarded_main(hvd::benchmark::main, argc, argv);
//   }
#pragma once

#include <cerrno>
#include <cstdio>
#include <exception>

namespace hvd::benchmark {

// Returns the exit code: that of `body`, or 1.
inline int guarded_main(int (*body)(int, char**), int argc, char** argv) {
  try {
    return body(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name,
                 error.what());
    return 1;
  }
}

}  // namespace hvd::benchmark
