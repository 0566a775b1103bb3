// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a test lie: on the heap, in an arena, or alternating. A
// Placement applies, while it lives, to Bytes made on its thread.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "horovodpp/collective/arena/arena.h"

namespace hvd::collective {

class Placement {
 public:
  enum class Kind { kHeap, kArena, kMixed };

  Placement(Kind kind, std::shared_ptr<Arena> arena)
      : kind_(kind), arena_(std::move(arena)), before_(current_) {
    current_ = this;
  }
  ~Placement() { current_ = before_; }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // The arena for this thread's next block; nullptr: the heap.
  static std::shared_ptr<Arena> next() {
    if (current_ == nullptr || current_->kind_ == Kind::kHeap) return nullptr;
    const bool skip = ++current_->count_ % 3 == 0;
    if (current_->kind_ == Kind::kMixed && skip) return nullptr;
    return current_->arena_;
  }

 private:
  static inline thread_local Placement* current_ = nullptr;
  const Kind kind_;
  const std::shared_ptr<Arena> arena_;
  Placement* const before_;
  int count_ = 0;
};

template <typename T>
class PlacedAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  PlacedAllocator() : arena_(Placement::next()) {}
  template <typename U>
  PlacedAllocator(const PlacedAllocator<U>& other) : arena_(other.arena()) {}
  PlacedAllocator select_on_container_copy_construction() const { return {}; }

  T* allocate(std::size_t count) {
    if (arena_ == nullptr) {
      return static_cast<T*>(::operator new(count * sizeof(T)));
    }
    return ArenaAllocator<T>(arena_).allocate(count);
  }
  void deallocate(T* memory, std::size_t count) {
    if (arena_ == nullptr) return ::operator delete(memory);
    ArenaAllocator<T>(arena_).deallocate(memory, count);
  }
  const std::shared_ptr<Arena>& arena() const { return arena_; }
  template <typename U>
  bool operator==(const PlacedAllocator<U>& other) const {
    return arena_ == other.arena();
  }

 private:
  std::shared_ptr<Arena> arena_;
};

using Bytes = std::vector<std::byte, PlacedAllocator<std::byte>>;

}  // namespace hvd::collective
