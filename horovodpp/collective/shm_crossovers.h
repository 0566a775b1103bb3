// Where one way through the memory of a node becomes faster than another
// depends on its processors, and on how many ranks share them. Measuring it
// takes some milliseconds, and is worth remembering.
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
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

class ArenaMap;
class ShmBoard;

struct ShmCrossovers {
  // Tensors up to this size are reduced by everyone in one step, unless they lie
  // in the arenas; larger ones by each rank a slice.
  std::size_t small_bytes = 0;
  // What a rank shows of a large one in a step; at most a slot.
  std::size_t step_bytes = 0;

  friend bool operator==(const ShmCrossovers&, const ShmCrossovers&) = default;
};

struct MeasureOptions {
  // Of the calls that are made for it.
  std::uint32_t epoch = 0;
  // Of local rank 0, which decides.
  std::chrono::nanoseconds patience = std::chrono::milliseconds(60);
};

// To be called by all ranks of the board, which makes no other calls meanwhile;
// the same on all of them. Leaves the board as it was. nullopt: there was not
// enough time to find everything out.
//   (errors)  the interrupt's, after which the board cannot be used any more
absl::StatusOr<std::optional<ShmCrossovers>> measure_crossovers(
    ShmBoard& board, ArenaMap* arenas, const MeasureOptions& options,
    transport::Interrupt& interrupt);

// What rank 0 of a board knows of its node, if it does, for all: it may have
// been measured by an earlier job. `known` is looked at on local rank 0 only.
// The same on all ranks; what does not fit the board counts as unknown, and is
// zero.
//   (errors)  as of measure_crossovers()
absl::StatusOr<ShmCrossovers> share_crossovers(ShmBoard& board,
                                               const ShmCrossovers& known,
                                               std::uint32_t epoch,
                                               transport::Interrupt& interrupt);

}  // namespace hvd::collective
