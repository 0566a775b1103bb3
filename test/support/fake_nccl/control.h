// SPDX-License-Identifier: Apache-2.0
// What tests may ask of the stand-in for NCCL beyond NCCL, by functions of its library or
// by the environment of its process.
//
// It moves the memory of the stand-in for CUDA (FAKE_NCCL_CUDA: that one's file), by
// memory that the ranks' processes share. Communicators are made without blocking, and
// answer "in progress" a few times to everything.
//
//   FAKE_NCCL_VERSION              which NCCL it is (22803)
//   FAKE_NCCL_DELAY                microseconds that an operation idles at most
//   FAKE_NCCL_FAULT="kind:rank:n"  as fake_nccl_fault()
//   NCCL_MULTI_RANK_GPU_ENABLE     as NCCL: ranks may share a GPU from 2.30 on
#pragma once

#include <cstddef>

extern "C" {

// From now on, operation `n` (counted from 0 for each communicator) of rank `rank` does
// not come to its end, before it is aborted:
//   "hang"         and nobody is told
//   "async error"  and that is an asynchronous error there
// Or a communicator of that rank is not made:
//   "init hang"    it is in progress for ever
//   "init error"   that is an error
// "": nothing of this.
void fake_nccl_fault(const char* kind, int rank, int n);

// How long an operation idles at most before it begins, in microseconds.
void fake_nccl_set_delay(unsigned microseconds);

// Communicators that exist, and ops, and memory; and those that have ended while a graph
// had something of theirs, or were to be freed while they were registered.
std::size_t fake_nccl_objects();

// Windows: pieces of memory that are registered with communicators now.
std::size_t fake_nccl_windows();

}  // extern "C"
