// SPDX-License-Identifier: Apache-2.0
// For destructors, whose exceptions would end the process.
#pragma once

#include <utility>

namespace hvd {

// Calls `body`, and drops its exceptions: functions of users in it may throw anything.
template <typename Body>
void without_exceptions(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
  } catch (...) {
    // A destructor has no caller to tell.
  }
}

}  // namespace hvd
