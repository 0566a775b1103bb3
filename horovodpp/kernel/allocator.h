// SPDX-License-Identifier: Apache-2.0
// Where tensors get their memory. Small blocks (and the small objects behind
// tensors and graph nodes) come from a cache per thread, larger ones from a
// cache they all share, so that a training loop that repeats itself asks the
// system for nothing after its first step.
//
//   hvd::autograd::MemoryStats now =
//       hvd::autograd::cpu_allocator().stats();   // now.peak_bytes
//
// Thread-safe; memory may be freed on another thread than it was taken on, and
// the child of a fork can have some, whatever other threads were at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// Bytes that tensors hold now and at most held at once, as requested (not as
// rounded or cached).
struct MemoryStats {
  std::int64_t current_bytes = 0;
  std::int64_t peak_bytes = 0;
};

// Memory of one device. An implementation outlives every tensor it fed.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // Memory aligned to 64 bytes; nullptr for none.
  //   hvd::Error (ResourceExhausted)  there is not enough memory
  virtual void* allocate(std::size_t bytes) = 0;
  // `bytes` as it was allocated with.
  virtual void deallocate(void* memory, std::size_t bytes) noexcept = 0;

  virtual Device device() const = 0;
  virtual MemoryStats stats() const = 0;
  // From now on the peak counts from the current bytes.
  virtual void reset_peak() = 0;
};

// The process's allocator of CPU memory. Lives for ever.
Allocator& cpu_allocator();
// The same memory, counted apart: for what is put aside rather than computed
// with.
Allocator& host_allocator();

// Gives cached, unused memory back to the system: this thread's and the shared.
void release_cached_memory();

// The cache of small blocks, for objects: at most kMaxSmallBlock bytes are
// cached, more are passed through. `bytes` must be the same in both calls.
inline constexpr std::size_t kMaxSmallBlock = 1024;
void* allocate_small(std::size_t bytes);
void deallocate_small(void* memory, std::size_t bytes) noexcept;

// A class that derives from Pooled lives in the cache of small blocks.
struct Pooled {
  static void* operator new(std::size_t bytes) { return allocate_small(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    deallocate_small(memory, bytes);
  }
};

}  // namespace autograd
}  // namespace hvd
