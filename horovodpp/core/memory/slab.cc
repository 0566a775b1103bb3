// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/slab.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(address, bytes) \
  ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) \
  ((void)(address), (void)(bytes))
#endif

namespace hvd {
namespace {

constexpr std::size_t kMinObjects = 8;
constexpr std::size_t kHugeBlock = std::size_t{2} << 20;
constexpr std::size_t kObjectUnit = 64;

}  // namespace

Slab::~Slab() {
  MutexLock lock(mutex_);
  while (free_ != nullptr) {
    Free* const object = free_;
    ASAN_UNPOISON_MEMORY_REGION(object, sizeof(Free));
    free_ = object->next;
  }
}

void Slab::Release::operator()(std::byte* block) const { std::free(block); }

void* Slab::take(std::size_t bytes) {
  const std::size_t object =
      (bytes + kObjectUnit - 1) / kObjectUnit * kObjectUnit;
  MutexLock lock(mutex_);
  if (free_ != nullptr) {
    Free* const again = free_;
    ASAN_UNPOISON_MEMORY_REGION(again, bytes);
    free_ = again->next;
    return again;
  }
  if (left_ < object) add_block(object);
  left_ -= object;
  return std::exchange(next_, next_ + object);
}

void Slab::give_back(void* object, std::size_t bytes) {
  MutexLock lock(mutex_);
  free_ = new (object) Free{free_};
  ASAN_POISON_MEMORY_REGION(object, bytes);
}

// Each block is twice as large as the last one, up to a huge page.
void Slab::add_block(std::size_t object) {
  std::size_t bytes = kMinObjects * object;
  for (std::size_t i = 0; i < blocks_.size() && bytes < kHugeBlock; ++i) {
    bytes *= 2;
  }
  const bool is_huge = bytes >= kHugeBlock;
  if (is_huge)
    bytes = std::max(bytes / kHugeBlock, std::size_t{1}) * kHugeBlock;
  const std::size_t unit = is_huge ? kHugeBlock : kObjectUnit;
  std::unique_ptr<std::byte, Release> block(
      static_cast<std::byte*>(std::aligned_alloc(unit, bytes)));
  if (block == nullptr) throw std::bad_alloc();
  if (is_huge) ::madvise(block.get(), bytes, MADV_HUGEPAGE);  // Optional.
  next_ = block.get();
  left_ = bytes;
  blocks_.push_back(std::move(block));
}

}  // namespace hvd
