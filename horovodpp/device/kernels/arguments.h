// SPDX-License-Identifier: Apache-2.0
// The parameters of kernels: plain structs, passed by value, with the same
// layout on the host and on a GPU. A kernel has one of them as its only
// parameter. Its name tells its function and the types of its elements
// (names.h).
//
// A kernel's parameters are limited to 4 KiB, so a table of pieces has room for
// kMostPieces. A batch of more pieces takes several grids.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/core/clip_findings.h"
#include "horovodpp/core/reduce_op.h"

namespace hvd::device::kernels {

// Threads of a block, and the most blocks of a grid: equal on all GPUs, so that
// sums over them have the same bits everywhere. A grid of copies, which sum
// nothing, has a block for each tile.
inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kMostBlocks = 1024;

inline constexpr std::size_t kMostPieces = 120;
inline constexpr std::size_t kMostMembers = 64;

// Blocks take elements in tiles. A tile is never part of two pieces.
inline constexpr std::int64_t kTileElements = 4096;  // Of a conversion.
inline constexpr std::int64_t kTileBytes = 16384;    // Of a copy.

struct CopiedPiece {
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;  // Bytes of a copy, elements of a conversion.
  std::uint32_t tiles_before = 0;
};

// One block's findings about the numbers that it has read.
struct Sighting {
  double squares = 0;  // Their sum.
  std::uint32_t not_finite = 0;
};

struct CopyArguments {
  CopiedPiece pieces[kMostPieces] = {};
  std::uint32_t piece_count = 0;
  std::uint32_t tiles = 0;
  double scale = 1.0;  // Of a conversion.
  // An additional factor of a conversion, in GPU memory; nullptr: none.
  const double* factor = nullptr;
  Sighting* sightings = nullptr;  // One for each block; nullptr: not wanted.
};
static_assert(sizeof(CopyArguments) <= 4096);

// Makes `findings` from all sightings.
struct JudgeArguments {
  const Sighting* sightings = nullptr;
  std::uint32_t count = 0;
  double factor = 1.0;
  double max_norm = 0.0;
  ClipFindings* findings = nullptr;
};

// Combines memory[0] to memory[members - 1], in this order, by the Combine of
// `op`. Writes the result into `outputs` of the members, from number
// `first_output` on.
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
};
static_assert(sizeof(ReduceArguments) <= 4096);

}  // namespace hvd::device::kernels
