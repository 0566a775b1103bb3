// SPDX-License-Identifier: Apache-2.0
// ArenaResults allocate results in the arena of one rank. The receivers own the
// results, and the other ranks write their parts straight into them, which is
// the fastest way. An arena never returns memory to the machine, so results get
// at most as much at a time as a pool of ordinary memory keeps:
//
//   if (auto memory = results.allocate(bytes)) ...   // else any memory will do
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/core/memory/buffer_pool.h"

namespace hvd::collective {

// Memory of `arena` that its last holder frees.
//   (errors)  see Arena::allocate()
StatusOr<std::shared_ptr<std::byte>> allocate_held(
    const std::shared_ptr<Arena>& arena, std::size_t bytes);

class ArenaResults {
 public:
  // All results that exist together take at most `most` bytes.
  explicit ArenaResults(std::shared_ptr<Arena> arena,
                        std::size_t most = kMaxKept)
      : state_(std::make_shared<State>(std::move(arena), most)) {}

  // Allocates one byte or more; the memory may outlive the ArenaResults.
  // Returns nullptr if the arena or the results have no room.
  std::shared_ptr<std::byte> allocate(std::size_t bytes);

 private:
  struct State {
    State(std::shared_ptr<Arena> its_arena, std::size_t its_most)
        : arena(std::move(its_arena)), most(its_most) {}
    const std::shared_ptr<Arena> arena;
    const std::size_t most;
    std::atomic<std::size_t> held{0};
  };
  const std::shared_ptr<State> state_;
};

}  // namespace hvd::collective
