// SPDX-License-Identifier: Apache-2.0
// Comes first in what users include: an older C++ gets one error that says so,
// and not one for each line that it cannot read.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "horovodpp needs C++20: compile with -std=c++20 or later"
// There is no such header, which ends the compilation: no more errors follow.
#include "horovodpp/core/the_rest_needs_c++20"
#endif
