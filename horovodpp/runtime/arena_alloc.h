// SPDX-License-Identifier: Apache-2.0
// Memory for what a program reduces, gathers or broadcasts, where that costs no copy:
// in the arena of the job of this process (shm/arena.h), or in other memory if there
// is no job or the arena has no room.
//
//   const std::shared_ptr<float[]> gradient = hvd::arena_alloc<float>(256 * 784);
//   hvd::throw_if_error(hvd::allreduce_(
//       hvd::TensorView::of(gradient.get(), {256, 784}),
//       {.name = "fc1.weight", .keep_alive = gradient}));
//
// The memory lives as long as somebody holds it, also after shutdown(); then it is
// memory like any other. Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "horovodpp/collective/shm/arena.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

class Runtime;

// `bytes` of any content, aligned to Arena::kAlignment.
//   (throws std::bad_alloc)  there is not as much memory of any kind
std::shared_ptr<void> arena_alloc_bytes(std::size_t bytes);

// The same in the arena of `job`, or null where that has no room.
std::shared_ptr<void> arena_alloc_bytes(Runtime& job, std::size_t bytes);

// `bytes` of any content in the memory of `device`, for a job of this process. On a GPU
// NCCL allocates them where it can, and what a rank has of this before its first
// collective on a GPU is registered with NCCL, if all ranks have it in the same sizes and
// order (docs/gpu.md). Nothing works with it any more when it is let go.
//   NotFound            there is no CUDA driver; says what brings it
//   ResourceExhausted   there is not as much
//   InvalidArgument     there is no such GPU
//   FailedPrecondition  there is no job
StatusOr<std::shared_ptr<void>> arena_alloc_on(const Device& device,
                                               std::size_t bytes);

// `count` elements of any content.
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

// Whether all of `bytes` at `memory` lie in the arena of the job of this process.
bool is_in_arena(const void* memory, std::size_t bytes);

}  // namespace hvd
