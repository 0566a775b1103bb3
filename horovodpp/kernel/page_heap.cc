// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/page_heap.h"

#include <sys/mman.h>

#include <iterator>
#include <new>

namespace hvd::autograd {
namespace {

// All blocks are multiples of this, which is a multiple of any page.
constexpr std::size_t kUnit = std::size_t{1} << 16;

std::size_t in_units(std::size_t bytes) {
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

void* map_memory(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Where the system refuses, the block is as good.
  static_cast<void>(::madvise(memory, bytes, MADV_HUGEPAGE));
  return memory;
}

void unmap(void* place, std::size_t bytes) noexcept { ::munmap(place, bytes); }

}  // namespace

void* PageHeap::take(std::size_t bytes) {
  const std::size_t size = in_units(bytes);
  if (void* kept = take_kept(size)) return kept;
  void* memory = map_memory(size);
  if (memory == nullptr) {
    drain();
    memory = map_memory(size);
  }
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// The beginning of the smallest range that is large enough.
void* PageHeap::take_kept(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, nullptr});
  if (found == by_size_.end()) return nullptr;
  const auto [size, place] = *found;
  forget(by_place_.find(place));
  if (size > bytes) keep(place + bytes, size - bytes);
  return place;
}

void PageHeap::give(void* block, std::size_t bytes) noexcept {
  const std::size_t size = in_units(bytes);
  const auto place = static_cast<Place>(block);
  if (kept_bytes_ + size > most_kept_) {
    unmap(place, size);
    return;
  }
  Place begin = place, end = place + size;
  const Range next = by_place_.lower_bound(begin);
  if (next != by_place_.begin()) {
    const Range before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      forget(before);
    }
  }
  if (next != by_place_.end() && next->first == end) {
    end += next->second;
    forget(next);
  }
  keep(begin, end - begin);
}

// Without memory for its own records it returns the range to the system.
void PageHeap::keep(Place begin, std::size_t bytes) {
  try {
    const auto range = by_place_.emplace(begin, bytes).first;
    try {
      by_size_.emplace(bytes, begin);
    } catch (const std::bad_alloc&) {
      by_place_.erase(range);
      throw;
    }
    kept_bytes_ += bytes;
  } catch (const std::bad_alloc&) {
    unmap(begin, bytes);
  }
}

void PageHeap::forget(Range range) {
  kept_bytes_ -= range->second;
  by_size_.erase({range->second, range->first});
  by_place_.erase(range);
}

void PageHeap::drain() noexcept {
  for (const auto& [place, bytes] : by_place_) unmap(place, bytes);
  by_place_.clear();
  by_size_.clear();
  kept_bytes_ = 0;
}

}  // namespace hvd::autograd
