// SPDX-License-Identifier: Apache-2.0
// A BoardSeat is one rank's part in a call between ranks of a node: the board,
// the members, and this rank's position among them:
//
//   return seat.call(label, [&] { return seat.step_through(1, fill, drain); });
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/guarded.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/core/status.h"
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
                 std::size_t element_bytes) const {
    const auto line =
        static_cast<std::int64_t>(ShmBoard::kAlignment / element_bytes);
    const std::int64_t lines = (count + line - 1) / line;
    const auto edge = [&](int number) {
      return std::min(count, lines * number / ranks() * line);
    };
    return {edge(position), edge(position + 1) - edge(position)};
  }

  // Within a call: shows this rank's slot of the next step, and waits until all
  // members have shown theirs.
  absl::Status meet() const {
    const std::uint64_t step = board.steps();
    board.arrive();
    return board.wait_for_arrivals(step, interrupt);
  }

  // Runs `body` as a call on the board.
  template <typename Body>
  absl::Status call(const ShmBoard::Label& label, Body body) const {
    HVD_RETURN_IF_ERROR(board.begin(members, label));
    // An exception ends the call for good. Until the others know, they may
    // write into this rank's memory.
    absl::Cleanup leave = [&] {
      board.withdraw(0);
      board.give_up(ended_by_exception()).IgnoreError();
    };
    const absl::Status status = body();
    std::move(leave).Cancel();
    if (!status.ok()) return board.give_up(status);
    board.end();
    return absl::OkStatus();
  }

  // Takes the next `steps` steps of the call, at least one. fill(i, slot)
  // writes this rank's slot of step i. drain(i, step) uses the slots of all,
  // and returns nothing or a status. fill runs one step ahead, and is not
  // called for a slot that this rank has already shown (see
  // ShmBoard::arrive_and_look).
  template <typename Fill, typename Drain>
  absl::Status step_through(std::uint64_t steps, Fill fill, Drain drain) const {
    const bool is_shown = board.take_resumed();
    const std::uint64_t first = is_shown ? 0 : board.steps();
    const auto arrive = [&](std::uint64_t i) {
      fill(i, board.mine());
      board.arrive();
    };
    if (!is_shown) arrive(0);
    for (std::uint64_t i = 0; i < steps; ++i) {
      HVD_RETURN_IF_ERROR(board.wait_for_arrivals(first + i, interrupt));
      if (i + 1 < steps) arrive(i + 1);
      if constexpr (std::is_void_v<decltype(drain(i, first + i))>) {
        drain(i, first + i);
      } else {
        HVD_RETURN_IF_ERROR(drain(i, first + i));
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace hvd::collective
