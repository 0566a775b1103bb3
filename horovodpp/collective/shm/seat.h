// SPDX-License-Identifier: Apache-2.0
// A BoardSeat is one rank's seat in a call between ranks of a node: the board, who
// sits there, and which of them this rank is.
//
//   return seat.call(label, [&] { return seat.step_through(1, fill, drain); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/collective/shm/board.h"
#include "horovodpp/collective/shm/steps.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

// All of it is borrowed.
struct BoardSeat {
  ShmBoard& board;
  std::span<const int> members;  // As the board numbers them.
  int rank;                      // This one's position among them.
  SlotWriter& writer;
  transport::Interrupt& interrupt;

  int ranks() const { return static_cast<int>(members.size()); }

  // What the member at `position` shows in a step.
  const std::byte* slot(int position, std::uint64_t step) const {
    return board.slot(members[static_cast<std::size_t>(position)], step);
  }
  std::size_t slot_bytes() const { return board.options().chunk_bytes; }

  // What a rank shows in a step of what does not go by in one.
  std::size_t chunk_bytes() const { return board.crossovers().step_bytes; }
  // In how many steps, one or more, `bytes` go by in chunks.
  std::uint64_t steps_for(std::size_t bytes) const {
    return bytes == 0 ? 1 : (bytes - 1) / chunk_bytes() + 1;
  }

  // The elements, of `count`, that the member at `position` reduces for all: in
  // whole cache lines, so that no two ranks write to the same one.
  Range slice_of(int position, std::int64_t count,
                 std::size_t element_bytes) const;

  // In a call: shows what is in its slot at the board's next step, and waits until all do.
  absl::Status meet() const {
    const std::uint64_t step = board.steps();
    board.arrive();
    return board.wait_for_arrivals(step, interrupt);
  }

  // As call_on_board() and step_on_node().
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
