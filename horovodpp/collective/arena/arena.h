// SPDX-License-Identifier: Apache-2.0
// An Arena is memory of one rank that the other ranks of its node also map.
// Collectives reduce tensors in an arena in place, without a copy:
//
//   auto memory = runtime->arena()->allocate(bytes);
//   if (!memory.ok()) ...                      // use memory of another kind
//   float* grad = static_cast<float*>(*memory);
//   runtime->allreduce_async_(TensorView::of(grad, {n}), {.name = "grad"});
//   ...
//   runtime->arena()->deallocate(grad).IgnoreError();
//
//   std::vector<float, hvd::ArenaAllocator<float>> weights(
//       n, 0.0f, hvd::ArenaAllocator<float>(runtime->arena()));
//
// Ranks need not allocate alike. A collective moves data without a copy if it
// lies in the arenas of all ranks that share memory, and copies other data as
// usual.
//
// An arena takes memory from the machine in extents, and keeps and reuses them
// for its lifetime. Holders may keep an arena beyond its runtime; its content
// is then ordinary memory. Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

namespace transport {
class SharedMemory;
}

class Arena {
 public:
  // Alignment of everything allocate() returns; sizes are rounded up to it.
  static constexpr std::size_t kAlignment = 128;
  static constexpr std::size_t kMaxExtents = 256;

  struct Options {
    // Size of the first extent. Later extents grow with the total, so an arena
    // has few of them. A small first extent saves memory: all pages of an
    // extent are touched.
    std::size_t first_extent_bytes = std::size_t{256} << 10;
    // The most that an arena takes from the machine.
    std::size_t most_bytes = static_cast<std::size_t>(-1);
  };
  Arena() : Arena(Options()) {}
  explicit Arena(const Options& options);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns uninitialized memory of `bytes` (or one byte, if that is 0). A
  // forked child may use the parent's allocations, but gets no new ones; its
  // deallocate() has no effect.
  //   ResourceExhausted  the machine has no more shared memory, or the limit is
  //                      reached; names the size asked for. Other memory works
  //                      too, a little more slowly.
  //   FailedPrecondition  this is a forked child. Other memory works too.
  StatusOr<void*> allocate(std::size_t bytes);

  // Frees an allocation that nothing in flight uses.
  //   InvalidArgument  it is not this arena's, or was already freed
  Status deallocate(void* memory);

  // Bytes allocated now, the peak of that, and bytes taken from the machine.
  std::size_t in_use() const;
  std::size_t peak() const;
  std::size_t reserved() const;

  // A place in an arena.
  struct Place {
    std::uint32_t extent = 0;
    std::uint64_t offset = 0;
  };
  // Returns nullopt unless all bytes lie in one extent of this arena. Takes no
  // lock.
  std::optional<Place> find(const void* memory, std::size_t bytes) const;

  // The number of extents. Extents are numbered in order of creation; they
  // neither move nor go.
  std::uint32_t extents() const;
  // Requires 0 <= extent < extents().
  const transport::SharedMemory& extent(std::uint32_t extent) const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

// Allocates containers in an arena. If the arena has no memory left, containers
// get ordinary memory.
template <typename T>
class ArenaAllocator {
 public:
  using value_type = T;

  explicit ArenaAllocator(std::shared_ptr<Arena> arena)
      : arena_(std::move(arena)) {}
  template <typename U>
  ArenaAllocator(const ArenaAllocator<U>& other) : arena_(other.arena()) {}

  T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = count * sizeof(T);
    auto memory = arena_->allocate(bytes);
    if (memory.ok()) return static_cast<T*>(*memory);
    return static_cast<T*>(::operator new(bytes, kAlignment));
  }
  void deallocate(T* memory, std::size_t) {
    if (arena_->deallocate(memory).ok()) return;
    ::operator delete(memory, kAlignment);
  }

  const std::shared_ptr<Arena>& arena() const { return arena_; }
  template <typename U>
  bool operator==(const ArenaAllocator<U>& other) const {
    return arena_ == other.arena();
  }

 private:
  static constexpr std::align_val_t kAlignment{Arena::kAlignment};
  std::shared_ptr<Arena> arena_;
};

}  // namespace hvd
