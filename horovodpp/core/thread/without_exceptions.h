// SPDX-License-Identifier: Apache-2.0
// Runs code that may throw inside destructors, where an exception would end the
// process.
#pragma once

#include <utility>

namespace hvd {

// Calls `body` and drops its exceptions, which may come from user functions.
template <typename Body>
void without_exceptions(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
  } catch (...) {
    // A destructor cannot report errors.
  }
}

}  // namespace hvd
