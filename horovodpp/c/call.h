// SPDX-License-Identifier: Apache-2.0
// What every function of the C interface is wrapped in: nothing is thrown across it,
// and what went wrong is kept for the thread that called.
#pragma once

#include <cstdint>
#include <utility>

#include "horovodpp/core/outcome.h"

namespace hvd::c {

// The code of `status`, which is noted if it is a failure. Needs no memory.
std::int32_t note(const Status& status) noexcept;
// Of the exception that is being handled.
std::int32_t note_exception() noexcept;

// Runs `body`, which returns a Status, of whatever library.
template <typename Body>
std::int32_t call(Body&& body) noexcept {
  try {
    return note(Status(std::forward<Body>(body)()));
  } catch (...) {
    return note_exception();
  }
}

// Runs `body`, and returns what it does; `failed` where it throws.
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
