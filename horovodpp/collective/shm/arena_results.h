// SPDX-License-Identifier: Apache-2.0
// ArenaResults are the memory of results that their receivers own, in the arena of one
// rank: the other ranks write their parts straight into it, which is the fastest way
// there is. An arena keeps what it has taken from the machine, so results get no more
// of it at a time than a pool of ordinary memory keeps.
//
//   if (auto memory = results.allocate(bytes)) ...   // else any memory will do
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "horovodpp/collective/shm/arena.h"
#include "horovodpp/core/buffer_pool.h"

namespace hvd::collective {

// Memory of `arena` that goes back to it with its last holder.
//   (errors)  as Arena::allocate()
StatusOr<std::shared_ptr<std::byte>> allocate_held(
    const std::shared_ptr<Arena>& arena, std::size_t bytes);

class ArenaResults {
 public:
  // All results that exist together take at most `most` bytes.
  explicit ArenaResults(std::shared_ptr<Arena> arena,
                        std::size_t most = kMostKept)
      : state_(std::make_shared<State>(std::move(arena), most)) {}

  // Memory of one byte or more, which may be held beyond the ArenaResults; nullptr
  // if the arena or the results have no room for it.
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
