// SPDX-License-Identifier: Apache-2.0
// What the kernels are given: plain structs, passed by value, which the host and a GPU
// see alike. A kernel has one of them as its only parameter, and is named after what
// it does and the types of its elements (names.h).
//
// Parameters of a kernel are 4 KiB at most, so a table of pieces has room for
// kMostPieces: a batch of more of them is several grids.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/core/clip_findings.h"
#include "horovodpp/core/reduce_op.h"

namespace hvd::device::kernels {

// Threads of a block, and the most blocks of a grid: equal on all GPUs, so that sums
// over them have the same bits everywhere.
inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kMostBlocks = 1024;

inline constexpr std::size_t kMostPieces = 120;
inline constexpr std::size_t kMostMembers = 64;

// Blocks take elements in tiles. One is never part of two pieces.
inline constexpr std::int64_t kTileElements = 4096;  // Of a conversion;
inline constexpr std::int64_t kTileBytes = 32768;    // of a copy.

struct CopiedPiece {
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;  // Bytes of a copy, elements of a conversion.
  std::uint32_t tiles_before = 0;
};

// What was seen of the numbers that were read, by one block.
struct Sighting {
  double squares = 0;  // The sum of them.
  std::uint32_t not_finite = 0;
};

struct CopyArguments {
  CopiedPiece pieces[kMostPieces] = {};
  std::uint32_t piece_count = 0;
  std::uint32_t tiles = 0;
  double scale = 1.0;  // Of a conversion.
  // Of a conversion: where on the GPU there is one more; nullptr: nowhere.
  const double* factor = nullptr;
  Sighting* sightings = nullptr;  // One for each block; nullptr: not wanted.
};
static_assert(sizeof(CopyArguments) <= 4096);

// Makes `findings` of all that was seen.
struct JudgeArguments {
  const Sighting* sightings = nullptr;
  std::uint32_t count = 0;
  double factor = 1.0;
  double max_norm = 0.0;
  ClipFindings* findings = nullptr;
};

// Combines memory[0] to memory[members - 1], in this order, and writes the result into
// each of `outputs` of them from the one numbered `first_output` on; or leaves it as the
// CPU's accumulators of such a reduction (collective/reduce), unfinished.
struct ReduceArguments {
  void* memory[kMostMembers] = {};
  std::uint32_t members = 0;
  std::uint32_t first_output = 0;
  std::uint32_t outputs = 0;
  ReduceOp op = ReduceOp::kSum;
  std::int64_t count = 0;
  double prescale = 1.0;
  double postscale = 1.0;
  std::int64_t divisor = 1;
  void* accumulators = nullptr;  // If not nullptr: for these, and no output.
};
static_assert(sizeof(ReduceArguments) <= 4096);

}  // namespace hvd::device::kernels
