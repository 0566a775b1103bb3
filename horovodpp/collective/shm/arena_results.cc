// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/arena_results.h"

#include <utility>

namespace hvd::collective {

std::shared_ptr<std::byte> ArenaResults::allocate(std::size_t bytes) {
  State& state = *state_;
  // Nobody's sum may overflow because of what somebody asks for.
  if (bytes > state.most) return nullptr;
  if (state.held.fetch_add(bytes) > state.most - bytes) {
    state.held -= bytes;
    return nullptr;
  }
  const StatusOr<void*> memory = state.arena->allocate(bytes);
  if (!memory.ok()) {
    state.held -= bytes;
    return nullptr;
  }
  return {static_cast<std::byte*>(*memory),
          [shared = state_, bytes](std::byte* gone) {
            // What this arena has given it takes back.
            static_cast<void>(shared->arena->deallocate(gone));
            shared->held -= bytes;
          }};
}

}  // namespace hvd::collective
