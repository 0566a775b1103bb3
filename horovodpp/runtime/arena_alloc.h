// SPDX-License-Identifier: Apache-2.0
// Allocates memory for tensors that a program reduces, gathers or broadcasts.
// The memory lies in the arena of this process's job (shm/arena.h), where
// collectives need no copy. Without a job, or without room in the arena, it is
// ordinary memory.
//
//   const std::shared_ptr<float[]> gradient = hvd::arena_alloc<float>(256 * 784);
//   hvd::throw_if_error(hvd::allreduce_(
//       hvd::TensorView::of(gradient.get(), {256, 784}),
//       {.name = "fc1.weight", .keep_alive = gradient}));
//
// The memory lives as long as a reference to it, also after shutdown(); from
// then on it is ordinary memory. Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

class Runtime;

// Allocates `bytes` of uninitialized memory, aligned to Arena::kAlignment.
//   (throws std::bad_alloc)  no memory of either kind is left
std::shared_ptr<void> arena_alloc_bytes(std::size_t bytes);

// Allocates likewise in the arena of `job`; null if the arena has no room.
std::shared_ptr<void> arena_alloc_bytes(Runtime& job, std::size_t bytes);

// Allocates `bytes` of uninitialized memory on `device`, for a job of this
// process. On a GPU NCCL allocates them where it can. Allocations before a
// rank's first collective on a GPU are registered with NCCL, if all ranks make
// them in equal sizes and order (docs/gpu.md). Free the memory only when no
// work uses it any more.
//   NotFound            no CUDA driver; the message says what installs it
//   ResourceExhausted   not enough memory
//   InvalidArgument     no such GPU
//   FailedPrecondition  no job
StatusOr<std::shared_ptr<void>> arena_alloc_on(const Device& device,
                                               std::size_t bytes);

// Allocates `count` uninitialized elements.
//   (throws)  as arena_alloc_bytes()
template <typename T>
std::shared_ptr<T[]> arena_alloc(std::size_t count) {
  static_assert(std::is_trivially_default_constructible_v<T> &&
                    std::is_trivially_destructible_v<T>,
                "nothing constructs or destroys the elements");
  static_assert(alignof(T) <= Arena::kAlignment);
  if (count > PTRDIFF_MAX / sizeof(T)) throw std::bad_alloc();
  const std::shared_ptr<void> memory = arena_alloc_bytes(count * sizeof(T));
  return {memory, static_cast<T*>(memory.get())};
}

// Whether all `bytes` at `memory` lie in the arena of this process's job.
bool is_in_arena(const void* memory, std::size_t bytes);

}  // namespace hvd
