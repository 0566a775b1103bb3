// SPDX-License-Identifier: Apache-2.0
// Attributes for Clang's thread-safety analysis, for locks in headers that
// users include. (Other headers use Abseil's, and core/thread/mutex.h.)
#pragma once

#if defined(__clang__)
#define HVD_LOCKABLE __attribute__((lockable))
#define HVD_SCOPED_LOCKABLE __attribute__((scoped_lockable))
#define HVD_ACQUIRES(...) __attribute__((exclusive_lock_function(__VA_ARGS__)))
#define HVD_RELEASES(...) __attribute__((unlock_function(__VA_ARGS__)))
#define HVD_GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#else
#define HVD_LOCKABLE
#define HVD_SCOPED_LOCKABLE
#define HVD_ACQUIRES(...)
#define HVD_RELEASES(...)
#define HVD_GUARDED_BY(lock)
#endif
