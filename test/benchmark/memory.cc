// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/memory.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::benchmark {
namespace {

constexpr std::align_val_t kAlignment{64};

absl::StatusOr<Memory> allocate_foreign(std::size_t bytes) {
  void* const memory = ::operator new(bytes, kAlignment, std::nothrow);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no ", bytes, " bytes"));
  }
  return Memory(static_cast<std::byte*>(memory),
                [](std::byte* start) { ::operator delete(start, kAlignment); });
}

absl::StatusOr<Memory> allocate_in_arena(std::size_t bytes) {
  const std::shared_ptr<Arena> arena = current_runtime().arena();
  HVD_ASSIGN_OR_RETURN(void* const memory, arena->allocate(bytes));
  return Memory(static_cast<std::byte*>(memory), [arena](std::byte* start) {
    arena->deallocate(start).IgnoreError();
  });
}

}  // namespace

absl::StatusOr<Memory> allocate(MemoryKind kind, std::size_t bytes) {
  return kind == MemoryKind::kForeign ? allocate_foreign(bytes)
                                      : allocate_in_arena(bytes);
}

}  // namespace hvd::benchmark
