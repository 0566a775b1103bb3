// SPDX-License-Identifier: Apache-2.0
// Allocator of tensor memory. Small blocks (also objects behind tensors and
// graph nodes) come from a cache per thread, larger blocks from a cache that
// all threads share. A repeating training loop needs no system memory after its
// first step.
//
//   hvd::autograd::MemoryStats now =
//       hvd::autograd::cpu_allocator().stats();   // now.peak_bytes
//
// Thread-safe. Any thread may free memory of another. A forked child can
// allocate, even if another thread was allocating at the fork.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// Current and peak bytes held by tensors, as requested (not as rounded or
// cached).
struct MemoryStats {
  std::int64_t current_bytes = 0;
  std::int64_t peak_bytes = 0;
};

// Memory of one device. An implementation outlives every tensor that uses it.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // Memory aligned to 64 bytes; nullptr for 0 bytes.
  //   hvd::Error (ResourceExhausted)  there is not enough memory
  virtual void* allocate(std::size_t bytes) = 0;
  // `bytes` as passed to allocate().
  virtual void deallocate(void* memory, std::size_t bytes) noexcept = 0;

  virtual Device device() const = 0;
  virtual MemoryStats stats() const = 0;
  // Restarts the peak at the current bytes.
  virtual void reset_peak() = 0;
};

// The process's allocator of CPU memory. Lives forever.
Allocator& cpu_allocator();
// The same memory with separate statistics: for data put aside rather than
// computed with.
Allocator& host_allocator();

// Returns unused cached memory to the system: this thread's and the shared.
void release_cached_memory();

// The cache of small blocks, for objects. At most kMaxSmallBlock bytes are
// cached; larger blocks are passed through. `bytes` must be equal in both
// calls.
inline constexpr std::size_t kMaxSmallBlock = 1024;
void* allocate_small(std::size_t bytes);
void deallocate_small(void* memory, std::size_t bytes) noexcept;

// Base class of objects that live in the cache of small blocks.
struct Pooled {
  static void* operator new(std::size_t bytes) { return allocate_small(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    deallocate_small(memory, bytes);
  }
};

}  // namespace autograd
}  // namespace hvd
