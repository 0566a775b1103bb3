// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/arena_alloc.h"

#include <cstdint>
#include <new>

#include "horovodpp/collective/arena/results.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd {
namespace {

constexpr std::align_val_t kAlignment{Arena::kAlignment};

}  // namespace

std::shared_ptr<void> arena_alloc_bytes(Runtime& job, std::size_t bytes) {
  auto memory = collective::allocate_held(job.arena(), bytes);
  if (!memory.ok()) return nullptr;
  return *std::move(memory);
}

std::shared_ptr<void> arena_alloc_bytes(std::size_t bytes) {
  // Rounding a larger size up to the alignment would overflow.
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  if (const auto runtime = find_runtime(); runtime.ok()) {
    if (auto memory = arena_alloc_bytes(**runtime, bytes)) return memory;
  }
  return {::operator new(bytes, kAlignment),
          [](void* gone) { ::operator delete(gone, kAlignment); }};
}

StatusOr<std::shared_ptr<void>> arena_alloc_on(const Device& device,
                                               std::size_t bytes) {
  auto runtime = find_runtime();
  if (!runtime.ok()) return runtime.status();
  return (*runtime)->allocate_on(device, bytes);
}

bool is_in_arena(const void* memory, std::size_t bytes) {
  const auto runtime = find_runtime();
  return runtime.ok() && (*runtime)->arena()->find(memory, bytes).has_value();
}

}  // namespace hvd
