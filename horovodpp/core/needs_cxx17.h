// SPDX-License-Identifier: Apache-2.0
// Include first, in headers for users without C++20: an older C++ reports one
// clear error instead of one for each unreadable line.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "horovodpp needs C++17: compile with -std=c++17 or later"
// This header does not exist, so compilation ends here without further errors.
#include "horovodpp/core/the_rest_needs_c++17"
#endif
