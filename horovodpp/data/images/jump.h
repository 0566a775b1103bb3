// SPDX-License-Identifier: Apache-2.0
// A Jump leaves a C library whose error callback must not return. It carries
// the error's message. In a function without destructors:
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

  // The error callback calls this.
  [[noreturn]] void leave(const char* why) {
    std::snprintf(message, sizeof message, "%s", why);
    std::longjmp(place, 1);
  }
};

}  // namespace hvd::data
