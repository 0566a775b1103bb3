// SPDX-License-Identifier: Apache-2.0
// An Arena is memory of one rank that the other ranks of its node reach, too:
// tensors that lie in it are reduced where they lie, without a copy.
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
// Ranks need not allocate alike. A collective moves without a copy what lies in
// the arenas of all ranks that share memory, and copies the rest as usual.
//
// The memory is taken from the machine in extents, which are kept and reused as
// long as the arena lives. An arena outlives its runtime if something still holds
// it; what lies in it is then memory like any other. Thread-safe.
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
  // Of everything allocate() returns; its sizes are rounded up to it.
  static constexpr std::size_t kAlignment = 128;
  static constexpr std::size_t kMaxExtents = 256;

  struct Options {
    // Of the first extent. Later ones grow with what there is: there are never
    // many, and who needs little has little, all pages of which are touched.
    std::size_t first_extent_bytes = std::size_t{256} << 10;
    // It never takes more than this from the machine.
    std::size_t most_bytes = static_cast<std::size_t>(-1);
  };
  Arena() : Arena(Options()) {}
  explicit Arena(const Options& options);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Memory with any content, `bytes` long (or one byte, if that is 0). In a forked child
  // the arena is its parent's: the child may use what it knows of, gets no more, and
  // takes nothing back.
  //   ResourceExhausted  the machine has no more shared memory, or the limit is
  //                      reached; says how much was asked for. Other memory will
  //                      do, a little more slowly.
  //   FailedPrecondition  this is a forked child. Likewise.
  StatusOr<void*> allocate(std::size_t bytes);

  // Takes back what allocate() returned; nothing is in flight that uses it.
  //   InvalidArgument  it is not this arena's, or was taken back before
  Status deallocate(void* memory);

  // Bytes: handed out now, at most so far, and taken from the machine.
  std::size_t in_use() const;
  std::size_t peak() const;
  std::size_t reserved() const;

  // Where something lies.
  struct Place {
    std::uint32_t extent = 0;
    std::uint64_t offset = 0;
  };
  // nullopt unless all of it lies in one extent of this arena. Takes no lock.
  std::optional<Place> find(const void* memory, std::size_t bytes) const;

  // Extents are numbered as they come; they neither move nor go.
  std::uint32_t extents() const;
  // 0 <= extent < extents()
  const transport::SharedMemory& extent(std::uint32_t extent) const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

// Puts containers into an arena. If the arena has no memory left they get other
// memory.
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
