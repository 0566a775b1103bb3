// SPDX-License-Identifier: Apache-2.0
// The library of --debug-on-crash (preloaded/crash_handler.cc), which this
// program contains. A CrashLibrary holds it as a file in memory, which ranks
// can load as long as the object lives.
#pragma once

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The rank, for messages of print_stacks().
inline constexpr char kCrashRankVariable[] = "HOROVODRUN_CRASH_RANK";

class CrashLibrary {
 public:
  CrashLibrary() = default;
  ~CrashLibrary();
  CrashLibrary(const CrashLibrary&) = delete;
  CrashLibrary& operator=(const CrashLibrary&) = delete;

  // Adds the variables by which a child of this process, and its descendants,
  // load the library; none if the system has no files in memory.
  void add_to(Environment& environment, int rank);

 private:
  int fd_ = -1;
};

}  // namespace hvd::launcher
