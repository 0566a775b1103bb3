// SPDX-License-Identifier: Apache-2.0
// From which size on one algorithm is faster than another depends on the processors
// of a node, and on how many ranks share them. Measuring it takes some
// milliseconds, so the result is worth remembering.
//
//   HVD_ASSIGN_OR_RETURN(const std::optional<ShmCrossovers> found,
//                        measure_crossovers(board, &arenas, {}, interrupt));
//   if (found) board.set_crossovers(*found);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/board.h"
#include "horovodpp/collective/shm/options.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

struct MeasureOptions {
  // Of the calls that are made for it.
  std::uint32_t epoch = 0;
  // Of local rank 0, which decides.
  std::chrono::nanoseconds patience = std::chrono::milliseconds(60);
};

// To be called by all ranks of the board, which make no other calls meanwhile; they
// all get the same. Leaves the board as it was. nullopt: there was not enough time
// to measure everything.
//   (errors)  the interrupt's, after which the board cannot be used any more
absl::StatusOr<std::optional<ShmCrossovers>> measure_crossovers(
    ShmBoard& board, ArenaMap* arenas, const MeasureOptions& options,
    transport::Interrupt& interrupt);

// Tells all ranks of a board what local rank 0 knows of the node, say from an earlier
// job. `known` is read on local rank 0 only. All ranks get the same; values that do
// not fit the board count as unknown, and are zero.
//   (errors)  as of measure_crossovers()
absl::StatusOr<ShmCrossovers> share_crossovers(ShmBoard& board,
                                               const ShmCrossovers& known,
                                               std::uint32_t epoch,
                                               transport::Interrupt& interrupt);

}  // namespace hvd::collective
