// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "horovodpp/c/arguments.h"
#include "horovodpp/c/call.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/arena_alloc.h"
#include "horovodpp/runtime/freed_memory.h"

namespace hvd::c {
namespace {

// Allocations of hvd_arena_alloc() and hvd_arena_alloc_on() that were not
// freed.
struct Given {
  Mutex mutex;
  absl::flat_hash_map<const void*, std::shared_ptr<void>> blocks
      ABSL_GUARDED_BY(mutex);
};

Given& given() {
  static auto* const instance = new Given;
  return *instance;
}

void* give(std::shared_ptr<void> block) {
  void* const memory = block.get();
  const MutexLock lock(given().mutex);
  given().blocks.emplace(memory, std::move(block));
  return memory;
}

}  // namespace
}  // namespace hvd::c

void* hvd_arena_alloc(std::size_t bytes) {
  return hvd::c::call_for<void*>(
      nullptr, [&] { return hvd::c::give(hvd::arena_alloc_bytes(bytes)); });
}

std::int32_t hvd_arena_alloc_on(std::int32_t device, std::size_t bytes,
                                void** memory) {
  return hvd::c::call([&]() -> hvd::Status {
    HVD_RETURN_IF_ERROR(hvd::c::check_not_null(memory, "memory"));
    HVD_ASSIGN_OR_RETURN(const hvd::Device where,
                         hvd::c::device_of_number(device));
    HVD_ASSIGN_OR_RETURN(std::shared_ptr<void> block,
                         hvd::arena_alloc_on(where, bytes));
    *memory = hvd::c::give(std::move(block));
    return {};
  });
}

std::int32_t hvd_arena_free(void* memory) {
  return hvd::c::call([&]() -> hvd::Status {
    if (memory == nullptr) return {};
    std::shared_ptr<void> block;  // Destroyed without the lock.
    hvd::MutexLock lock(hvd::c::given().mutex);
    auto& blocks = hvd::c::given().blocks;
    const auto found = blocks.find(memory);
    if (found == blocks.end()) {
      return absl::InvalidArgumentError(
          "the memory is not hvd_arena_alloc()'s, or was freed before");
    }
    block = std::move(found->second);
    blocks.erase(found);
    return {};
  });
}

std::int32_t hvd_is_in_arena(const void* memory, std::size_t bytes) {
  return hvd::c::call_for(
      0, [&] { return hvd::is_in_arena(memory, bytes) ? 1 : 0; });
}

std::int32_t hvd_keep_freed_memory() {
  return hvd::c::call_for(0, [] { return hvd::keep_freed_memory() ? 1 : 0; });
}
