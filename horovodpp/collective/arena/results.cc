// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/arena/results.h"

#include <utility>

namespace hvd::collective {

StatusOr<std::shared_ptr<std::byte>> allocate_held(
    const std::shared_ptr<Arena>& arena, std::size_t bytes) {
  const StatusOr<void*> memory = arena->allocate(bytes);
  if (!memory.ok()) return memory.status();
  return std::shared_ptr<std::byte>(
      static_cast<std::byte*>(*memory), [arena](std::byte* gone) {
        // The arena allocated this memory, so deallocate() succeeds.
        static_cast<void>(arena->deallocate(gone));
      });
}

std::shared_ptr<std::byte> ArenaResults::allocate(std::size_t bytes) {
  State& state = *state_;
  // A large request must not overflow the sum.
  if (bytes > state.most) return nullptr;
  if (state.held.fetch_add(bytes) > state.most - bytes) {
    state.held -= bytes;
    return nullptr;
  }
  StatusOr<std::shared_ptr<std::byte>> memory =
      allocate_held(state.arena, bytes);
  if (!memory.ok()) {
    state.held -= bytes;
    return nullptr;
  }
  std::byte* const data = memory->get();
  return {data, [shared = state_, bytes,
                 held = *std::move(memory)](std::byte*) mutable {
            held.reset();
            shared->held -= bytes;
          }};
}

}  // namespace hvd::collective
