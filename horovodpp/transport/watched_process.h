// SPDX-License-Identifier: Apache-2.0
// A hold on another process of this machine, by which its end can be seen:
// neither a later process with its number nor one that nobody has reaped is
// mistaken for it.
#pragma once

#include <cstdint>

#include "horovodpp/transport/owned_descriptor.h"

namespace hvd::transport {

class WatchedProcess {
 public:
  enum class Way {
    kNone,    // It cannot be seen.
    kGone,    // It has ended already.
    kPidfd,   // Its descriptor is readable once it has ended (pidfd_open(2)).
    kByLook,  // has_ended() tells (proc(5), /proc/pid/stat).
  };

  // By the best way that the system has.
  static WatchedProcess open(std::int64_t pid);
  // By looking.
  static WatchedProcess open_to_look(std::int64_t pid);
  // Not at all.
  static WatchedProcess unseen() { return {Way::kNone, -1}; }

  // kNone, too, once the program has closed the descriptor.
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
