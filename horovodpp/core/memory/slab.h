// SPDX-License-Identifier: Apache-2.0
// A Slab allocates objects of one size in blocks that grow with their number.
// Thousands of objects share huge pages, where the first use of a page and
// later lookups take a tenth of the time.
//
//   const auto slab = std::make_shared<Slab>();
//   auto call = std::allocate_shared<Call>(SlabAllocator<Call>(slab), ...);
//
// Freed objects are reused. Allocators, and so objects, keep the slab alive; it
// frees all its memory at its end. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd {

class Slab {
 public:
  Slab() = default;
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  // All calls pass the same `bytes`.
  void* take(std::size_t bytes);
  void give_back(void* object, std::size_t bytes);

 private:
  // Overlays a freed object.
  struct Free {
    Free* next = nullptr;
  };
  struct Release {
    void operator()(std::byte* block) const;
  };
  void add_block(std::size_t object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  Free* free_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::byte* next_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::size_t left_ ABSL_GUARDED_BY(mutex_) = 0;  // Bytes left after next_.
  std::vector<std::unique_ptr<std::byte, Release>> blocks_
      ABSL_GUARDED_BY(mutex_);
};

// Allocator for std::allocate_shared(), one object at a time.
template <typename T>
class SlabAllocator {
 public:
  using value_type = T;

  explicit SlabAllocator(std::shared_ptr<Slab> slab) : slab_(std::move(slab)) {}
  template <typename U>
  SlabAllocator(const SlabAllocator<U>& other) : slab_(other.slab()) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(slab_->take(count * sizeof(T)));
  }
  void deallocate(T* object, std::size_t count) {
    slab_->give_back(object, count * sizeof(T));
  }
  const std::shared_ptr<Slab>& slab() const { return slab_; }
  bool operator==(const SlabAllocator&) const = default;

 private:
  std::shared_ptr<Slab> slab_;
};

}  // namespace hvd
