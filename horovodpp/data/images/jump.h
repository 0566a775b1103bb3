// SPDX-License-Identifier: Apache-2.0
// A Jump is the way out of a C library that may not return from its error
// function, and its message. In a function without destructors:
//
//   if (setjmp(jump.place) != 0) return false;   // jump.message says why
//   call_the_library();
#pragma once

#include <csetjmp>
#include <cstdio>

namespace hvd::data {

struct Jump {
  std::jmp_buf place;
  char message[256] = "";

  // Called by the error function.
  [[noreturn]] void leave(const char* why) {
    std::snprintf(message, sizeof message, "%s", why);
    std::longjmp(place, 1);
  }
};

}  // namespace hvd::data
