// SPDX-License-Identifier: Apache-2.0
// The wrapper of every function of the C interface: it lets no exception
// through, and keeps the error for the calling thread.
#pragma once

#include <cstdint>
#include <utility>

#include "horovodpp/core/outcome.h"

namespace hvd::c {

// Returns the code of `status`, and records a failure. Needs no memory.
std::int32_t note(const Status& status) noexcept;
// Likewise for the current exception.
std::int32_t note_exception() noexcept;

// Runs `body`, which returns a Status, hvd's or Abseil's.
template <typename Body>
std::int32_t call(Body&& body) noexcept {
  try {
    return note(Status(std::forward<Body>(body)()));
  } catch (...) {
    return note_exception();
  }
}

// Runs `body` and returns its value; `failed` if it throws.
template <typename T, typename Body>
T call_for(T failed, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    note_exception();
    return failed;
  }
}

// InvalidArgument "<what> is NULL", if it is.
Status check_not_null(const void* pointer, const char* what);

}  // namespace hvd::c
