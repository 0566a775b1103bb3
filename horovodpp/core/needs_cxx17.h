// SPDX-License-Identifier: Apache-2.0
// Comes first in headers for users who do not have C++20 yet: an older C++ gets
// one error that says so, and not one for each line that it cannot read.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "horovodpp needs C++17: compile with -std=c++17 or later"
// There is no such header, which ends the compilation: no more errors follow.
#include "horovodpp/core/the_rest_needs_c++17"
#endif
