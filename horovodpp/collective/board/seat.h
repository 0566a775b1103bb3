// SPDX-License-Identifier: Apache-2.0
// A BoardSeat is one rank's part in a call between ranks of a node: the board,
// the members, and this rank's position among them:
//
//   return seat.call(label, [&] { return seat.step_through(1, fill, drain); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/board/steps.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

// Borrows everything.
struct BoardSeat {
  ShmBoard& board;
  std::span<const int> members;  // As the board numbers them.
  int rank;                      // This rank's position among them.
  SlotWriter& writer;
  transport::Interrupt& interrupt;

  int ranks() const { return static_cast<int>(members.size()); }

  // The slot of the member at `position` in a step.
  const std::byte* slot(int position, std::uint64_t step) const {
    return board.slot(members[static_cast<std::size_t>(position)], step);
  }
  std::size_t slot_bytes() const { return board.options().chunk_bytes; }

  // The bytes that a rank shows in one step of a call of several steps.
  std::size_t chunk_bytes() const { return board.crossovers().step_bytes; }
  // The number of steps, at least one, in which `bytes` pass in chunks.
  std::uint64_t steps_for(std::size_t bytes) const {
    return bytes == 0 ? 1 : (bytes - 1) / chunk_bytes() + 1;
  }

  // The elements, out of `count`, that the member at `position` reduces for
  // all. Slices are whole cache lines, so that no two ranks write to the same
  // line.
  Range slice_of(int position, std::int64_t count,
                 std::size_t element_bytes) const;

  // Within a call: shows this rank's slot of the next step, and waits until all
  // members have shown theirs.
  absl::Status meet() const {
    const std::uint64_t step = board.steps();
    board.arrive();
    return board.wait_for_arrivals(step, interrupt);
  }

  // See call_on_board() and step_on_node().
  template <typename Body>
  absl::Status call(const ShmBoard::Label& label, Body body) const {
    return call_on_board(board, members, label, std::move(body));
  }
  template <typename Fill, typename Drain>
  absl::Status step_through(std::uint64_t steps, Fill fill, Drain drain) const {
    return step_on_node(board, steps, interrupt, std::move(fill),
                        std::move(drain));
  }
};

}  // namespace hvd::collective
