// SPDX-License-Identifier: Apache-2.0
// Include first, in headers for users: an older C++ reports one clear error
// instead of one for each unreadable line.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "horovodpp needs C++20: compile with -std=c++20 or later"
// This header does not exist, so compilation ends here without further errors.
#include "horovodpp/core/the_rest_needs_c++20"
#endif
