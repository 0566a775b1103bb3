// SPDX-License-Identifier: Apache-2.0
// While a WaitsAtOnce lives on a thread, what that thread submits is waited for
// by it right away, so that nobody else has to be woken for it.
#pragma once

namespace hvd::runtime {

class WaitsAtOnce {
 public:
  WaitsAtOnce() { ++depth_; }
  ~WaitsAtOnce() { --depth_; }
  WaitsAtOnce(const WaitsAtOnce&) = delete;
  WaitsAtOnce& operator=(const WaitsAtOnce&) = delete;

  // Whether one lives on this thread.
  static bool here() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace hvd::runtime
