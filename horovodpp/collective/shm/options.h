// SPDX-License-Identifier: Apache-2.0
// What can be chosen about collectives through the memory of a node.
#pragma once

#include <cstddef>

namespace hvd::collective {

struct ShmOptions {
  // Of one rank's slot; made a multiple of 128 that has room for two numbers for
  // each rank. The region takes four of them for each rank.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  // Tensors up to this size (and to a chunk's) are reduced by everyone, until
  // measurements show something else to be faster.
  std::size_t small_bytes = std::size_t{8} << 10;
  // So are tensors up to this size if there are arenas: they are copied in less time
  // than it takes to find out whether they lie in one.
  std::size_t unlisted_bytes = std::size_t{4} << 10;
  // What moves without being reduced goes through the slots, whether there are
  // arenas or not, if no rank sends more than this.
  std::size_t copied_bytes = std::size_t{16} << 10;
  // Results that take more, of all ranks together, are written around the caches:
  // the last one of most machines holds about as much.
  std::size_t cached_bytes = std::size_t{32} << 20;
  // What a broadcast's root shows in a step, at least: the others copy one step while
  // it shows the next, so that short ones overlap sooner. Long ones take longer steps.
  std::size_t broadcast_step_bytes = std::size_t{64} << 10;
};

// From which size on calls use another algorithm: see crossovers.h.
struct ShmCrossovers {
  // Tensors up to this size are reduced by everyone in one step, unless they lie
  // in the arenas; larger ones by each rank a slice.
  std::size_t small_bytes = 0;
  // What a rank shows of a large one in a step; at most a slot.
  std::size_t step_bytes = 0;

  friend bool operator==(const ShmCrossovers&, const ShmCrossovers&) = default;
};

}  // namespace hvd::collective
