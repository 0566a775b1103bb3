// SPDX-License-Identifier: Apache-2.0
// Functions of the fake CUDA driver beyond CUDA, for tests.
//
// Environment variables of the process:
//   FAKE_CUDA_DEVICES=N     the number of GPUs (4)
//   FAKE_CUDA_VERSION=N     the version of CUDA (13000)
//   FAKE_CUDA_NO_PEERS=1    GPUs do not reach each other's memory
#pragma once

#include <cstddef>

extern "C" {

// The maximum time that a stream idles before an operation, in microseconds.
void fake_cuda_set_delay(unsigned microseconds);

// The number of unfinished operations that a stream accepts, by default 1,000.
// A thread that puts more blocks, as with a real driver.
void fake_cuda_set_queue_limit(std::size_t operations);

// The next `times` calls of `function` return `result`. For functions that put
// work into a stream, the work fails and not the call.
void fake_cuda_fail_next(const char* function, int result, int times);

// Calls `during(argument)` in the middle of the next call of `function`.
void fake_cuda_during_next(const char* function, void (*during)(void*),
                           void* argument);

// The number of calls of `function`: cuEventCreate, cuPointerGetAttributes, or
// a function that can be made to fail.
std::size_t fake_cuda_calls(const char* function);

// The number of existing objects: streams, events, pools, modules, allocations
// of device and pinned memory, and pinned ranges of host memory.
std::size_t fake_cuda_objects();

// The functions up to fake_cuda_current_device() serve other fakes, of
// libraries that use CUDA's streams and memory.
//
// Puts work into a stream, which treats a result other than 0 as an error.
int fake_cuda_put(void* stream, int (*work)(void*), void* argument);
// Like fake_cuda_put(). `argument` is released when the work is done for the
// last time: a captured stream does the work at each launch of its graph.
int fake_cuda_put_owned(void* stream, int (*work)(void*), void* argument,
                        void (*release)(void*));
int fake_cuda_is_capturing(void* stream);
// Where `bytes` of a device can be touched, and of which device they are.
// nullptr: they do not all lie in one allocation.
void* fake_cuda_touch(const void* memory, std::size_t bytes, int* device);
// The device of the current context; -1: none.
int fake_cuda_current_device();
// Returns when `device` has done all work that streams have now.
void fake_cuda_wait_for_device(int device);
// Whether the process has begun to exit, so that the driver accepts no more
// calls.
int fake_cuda_has_gone();

// Allocates on the current context's device as NCCL does: CUDA's own sharing
// and freeing do not work with the memory. 0: out of memory.
unsigned long long fake_cuda_allocate_for_nccl(std::size_t bytes);
int fake_cuda_free_for_nccl(unsigned long long memory);

// The number of allocations freed while other processes had them open.
std::size_t fake_cuda_freed_too_early();

// The number of kernels put into streams.
std::size_t fake_cuda_launches();

}  // extern "C"
