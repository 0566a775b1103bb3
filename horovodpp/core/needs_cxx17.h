// SPDX-License-Identifier: Apache-2.0
// Comes first in what users include who are not at C++20: an older C++ gets one
// error that says so, and not one for each line that it cannot read.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "horovodpp needs C++17: compile with -std=c++17 or later"
// Is not there, and so the end of it: other errors would not be told but for it.
#include "horovodpp/core/the_rest_needs_c++17"
#endif
