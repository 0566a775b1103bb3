// SPDX-License-Identifier: Apache-2.0
// Options of collectives through the memory of a node.
#pragma once

#include <cstddef>

namespace hvd::collective {

struct ShmOptions {
  // Size of one rank's slot. It is rounded to a multiple of 128 that has room
  // for two numbers for each rank. The region takes four slots for each rank.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  // Every rank reduces all elements of tensors up to this size (and to a
  // chunk's), until measurements find a faster limit.
  std::size_t small_bytes = std::size_t{8} << 10;
  // The same limit for nodes with arenas. Copying such tensors takes less time
  // than finding out whether they lie in an arena.
  std::size_t unlisted_bytes = std::size_t{4} << 10;
  // A collective without a reduction goes through the slots, with or without
  // arenas, if no rank sends more than this.
  std::size_t copied_bytes = std::size_t{16} << 10;
  // Larger results, summed over all ranks, are written around the caches. The
  // last cache of most machines holds about this much.
  std::size_t cached_bytes = std::size_t{32} << 20;
  // The least that a broadcast's root shows in a step. The others copy one step
  // while the root shows the next, so short steps overlap sooner. Long
  // broadcasts take longer steps.
  std::size_t broadcast_step_bytes = std::size_t{64} << 10;
};

// Sizes from which calls use another algorithm: see crossovers.h.
struct ShmCrossovers {
  // Every rank reduces tensors up to this size in one step, unless they lie in
  // the arenas. Of larger tensors each rank reduces a slice.
  std::size_t small_bytes = 0;
  // The bytes of a large tensor that a rank shows in a step; at most a slot.
  std::size_t step_bytes = 0;

  friend bool operator==(const ShmCrossovers&, const ShmCrossovers&) = default;
};

}  // namespace hvd::collective
