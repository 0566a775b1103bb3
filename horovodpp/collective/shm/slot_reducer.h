// SPDX-License-Identifier: Apache-2.0
// A SlotReducer combines the slots of all members of a call, in the order of
// the members.
//
// Belongs to one call. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"

namespace hvd::collective {

class SlotReducer {
 public:
  // The place of elements in the slots of a step.
  struct Place {
    std::uint64_t step = 0;
    std::size_t byte = 0;
  };

  // Borrows its arguments.
  SlotReducer(const BoardSeat& seat, const ReduceKernel& kernel)
      : seat_(seat),
        kernel_(kernel),
        inputs_(static_cast<std::size_t>(seat.ranks())),
        outputs_(inputs_.size()) {}

  // Combines `count` elements of all slots. `own`, if it is not nullptr,
  // replaces this rank's slot.
  void reduce(const Place& place, void* output, std::int64_t count,
              const void* own = nullptr);

  // Combines the elements of `run` with all others' elements at `place`. Writes
  // the result into the run's output and that place of the others' slots.
  void reduce_for_all(const Place& place, const Piece& run);

  // Combines pieces that all members show in full, one behind the other, in
  // step 0 from `byte` on.
  void reduce_all(std::span<const Piece> pieces, std::size_t byte);

 private:
  const BoardSeat& seat_;
  const ReduceKernel& kernel_;
  absl::InlinedVector<const void*, 16> inputs_;  // One for each member.
  absl::InlinedVector<void*, 16> outputs_;       // Likewise.
};

}  // namespace hvd::collective
