// SPDX-License-Identifier: Apache-2.0
// What tests may ask of the stand-in for CUDA's driver beyond CUDA, by functions of
// its library.
//
// The environment of its process says how many GPUs it has (FAKE_CUDA_DEVICES, or
// four), for which CUDA it is (FAKE_CUDA_VERSION, or 13000), and whether the GPUs do not
// reach each other's memory (FAKE_CUDA_NO_PEERS=1).
#pragma once

#include <cstddef>

extern "C" {

// How long a stream idles at most before it does the next thing, in microseconds.
void fake_cuda_set_delay(unsigned microseconds);

// How many operations a stream takes that it has not done yet, 1,000 unless it is said
// here: who puts more into it blocks, as with a driver.
void fake_cuda_set_queue_limit(std::size_t operations);

// The next `times` calls of `function` return `result`; of what goes into a stream, the work
// fails and not the call.
void fake_cuda_fail_next(const char* function, int result, int times);

// In the middle of the next call of `function`, calls `during(argument)`.
void fake_cuda_during_next(const char* function, void (*during)(void*),
                           void* argument);

// How often `function` has been called: cuEventCreate, cuPointerGetAttributes, and those that
// can be made to fail.
std::size_t fake_cuda_calls(const char* function);

// Objects that exist: streams, events, pools, modules, allocations on devices and of
// pinned memory, and what of the host's is pinned.
std::size_t fake_cuda_objects();

// For other stand-ins, of libraries that use CUDA's streams and memory: puts work into
// a stream, which takes its result for an error unless it is 0; where `bytes` of a
// device can be touched, and of which (nullptr: they are not one allocation's); the
// device of the current context (-1: there is none).
int fake_cuda_put(void* stream, int (*work)(void*), void* argument);
// The same; `argument` is released when the work is done for the last time: a stream
// that is captured does it each time that the graph is launched.
int fake_cuda_put_owned(void* stream, int (*work)(void*), void* argument,
                        void (*release)(void*));
int fake_cuda_is_capturing(void* stream);
void* fake_cuda_touch(const void* memory, std::size_t bytes, int* device);
int fake_cuda_current_device();
// Returns when `device` has done all work that streams have by now.
void fake_cuda_wait_for_device(int device);
// Whether the process has begun to exit, and the driver takes no calls any more.
int fake_cuda_has_gone();

// Memory as NCCL has it, of the current context's device: CUDA's own ways of sharing and
// freeing do not work with it. 0: there is none left.
unsigned long long fake_cuda_allocate_for_nccl(std::size_t bytes);
int fake_cuda_free_for_nccl(unsigned long long memory);

// Allocations that were freed while other processes had them open.
std::size_t fake_cuda_freed_too_early();

// How many kernels have been put into streams.
std::size_t fake_cuda_launches();

}  // extern "C"
