// SPDX-License-Identifier: Apache-2.0
// Controls of the fake NCCL for tests: functions of its library, and
// environment variables of its process.
//
// The fake moves memory of the fake CUDA driver (FAKE_NCCL_CUDA: that library's
// file) through memory that the ranks' processes share. Communicators are
// created without blocking. Every call answers "in progress" a few times.
//
//   FAKE_NCCL_VERSION              the version of NCCL (22803)
//   FAKE_NCCL_DELAY                most microseconds that an operation idles
//   FAKE_NCCL_FAULT="kind:rank:n"  as in fake_nccl_fault()
//   NCCL_MULTI_RANK_GPU_ENABLE     as in NCCL from 2.30: ranks may share GPUs
#pragma once

#include <cstddef>

extern "C" {

// Sets a fault of `rank`.
//   "hang"         operation `n` hangs until aborted
//   "async error"  the same, with an asynchronous error on that rank
//   "init hang"    creating a communicator never ends
//   "init error"   creating a communicator fails
//   ""             no fault
// Each communicator counts its operations from 0.
void fake_nccl_fault(const char* kind, int rank, int n);

// The maximum time that an operation idles before it begins, in microseconds.
void fake_nccl_set_delay(unsigned microseconds);

// The number of existing communicators, ops and allocations, plus communicators
// that ended while a graph used them, plus attempts to free registered memory.
std::size_t fake_nccl_objects();

// Windows: the number of memory ranges registered with communicators now.
std::size_t fake_nccl_windows();

}  // extern "C"
