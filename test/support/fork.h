// SPDX-License-Identifier: Apache-2.0
// Whether a test may fork while other threads allocate, and allocate in the
// child. Not with a sanitizer: its malloc (in GCC 12 and Clang 14) does not
// take its locks during a fork, as glibc's does. If another thread holds a
// lock, the child waits forever.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HVD_FORKED_MALLOC_WORKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HVD_FORKED_MALLOC_WORKS 0
#endif
#endif
#ifndef HVD_FORKED_MALLOC_WORKS
#define HVD_FORKED_MALLOC_WORKS 1
#endif

namespace hvd {

inline constexpr bool kForkedMallocWorks = HVD_FORKED_MALLOC_WORKS == 1;
inline constexpr char kForkedMallocMayHang[] =
    "a forked child may find the sanitizer's malloc locked";

}  // namespace hvd
