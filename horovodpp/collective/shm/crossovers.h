// SPDX-License-Identifier: Apache-2.0
// Measures the sizes from which one algorithm is faster than another. They
// depend on the processors of a node and on the number of ranks that share
// them. A measurement takes some milliseconds, so callers should remember the
// result:
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
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

struct MeasureOptions {
  // The epoch of the calls of a measurement.
  std::uint32_t epoch = 0;
  // The timeout of local rank 0, which decides.
  std::chrono::nanoseconds timeout = std::chrono::milliseconds(60);
};

// All ranks of the board call this, make no other calls meanwhile, and get the
// same result. Leaves the board unchanged. Returns nullopt if there was not
// enough time.
//   (errors)  the interrupt's, after which the board cannot be used any more
absl::StatusOr<std::optional<ShmCrossovers>> measure_crossovers(
    ShmBoard& board, ArenaMap* arenas, const MeasureOptions& options,
    transport::Interrupt& interrupt);

// Gives all ranks of a board the crossovers that local rank 0 knows, say from
// an earlier job. Only local rank 0 reads `known`. All ranks get the same;
// values that do not fit the board count as unknown, and are zero.
//   (errors)  see measure_crossovers()
absl::StatusOr<ShmCrossovers> share_crossovers(ShmBoard& board,
                                               const ShmCrossovers& known,
                                               std::uint32_t epoch,
                                               transport::Interrupt& interrupt);

}  // namespace hvd::collective
