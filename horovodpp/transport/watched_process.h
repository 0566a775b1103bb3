// SPDX-License-Identifier: Apache-2.0
// A hold on another process of this machine, by which its end can be seen:
// neither a later process with its number nor one that nobody has reaped is
// mistaken for it.
#pragma once

#include <cstdint>

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

  ~WatchedProcess();
  WatchedProcess(WatchedProcess&& other) noexcept;
  WatchedProcess& operator=(WatchedProcess&&) = delete;

  Way way() const { return way_; }
  int descriptor() const { return descriptor_; }
  bool has_ended() const;

 private:
  WatchedProcess(Way way, int descriptor)
      : way_(way), descriptor_(descriptor) {}

  Way way_;
  int descriptor_;  // -1: none.
};

}  // namespace hvd::transport
