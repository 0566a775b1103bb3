// SPDX-License-Identifier: Apache-2.0
// A WatchedProcess is a handle on another process of this machine that detects
// its end. Neither a later process with the same pid nor a zombie is mistaken
// for it.
#pragma once

#include <cstdint>

#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {

class WatchedProcess {
 public:
  enum class Way {
    kNone,    // Cannot be watched.
    kGone,    // Has already ended.
    kPidfd,   // The descriptor is readable after the end (pidfd_open(2)).
    kByLook,  // Poll has_ended() (proc(5), /proc/pid/stat).
  };

  // Opens `pid` in the best way that the system supports.
  static WatchedProcess open(std::int64_t pid);
  // Opens `pid` for polling.
  static WatchedProcess open_to_look(std::int64_t pid);
  // A process that cannot be watched.
  static WatchedProcess unseen() { return {Way::kNone, -1}; }

  // Also kNone once the program has closed the descriptor.
  Way way() const;
  int descriptor() const { return descriptor_.number(); }
  bool has_ended() const;

 private:
  WatchedProcess(Way way, int descriptor)
      : way_(way), descriptor_(descriptor) {}

  Way way_;
  OwnedDescriptor descriptor_;
};

}  // namespace hvd::transport
