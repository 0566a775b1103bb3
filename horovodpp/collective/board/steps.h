// SPDX-License-Identifier: Apache-2.0
// Runs calls on the board of a node, and their steps.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/guarded.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

// Runs `body` as a call on the board.
template <typename Body>
absl::Status call_on_board(ShmBoard& board, std::span<const int> members,
                           const ShmBoard::Label& label, Body body) {
  HVD_RETURN_IF_ERROR(board.begin(members, label));
  // An exception ends the call for good. Until the others know, they may write
  // into this rank's memory.
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

// Takes the next `steps` steps of the call on `board`, at least one. fill(i,
// slot) writes this rank's slot of step i. drain(i, step) uses the slots of
// all, and returns nothing or a status. fill runs one step ahead, and is not
// called for a slot that this rank has already shown (see
// ShmBoard::arrive_and_look).
template <typename Fill, typename Drain>
absl::Status step_on_node(ShmBoard& board, std::uint64_t steps,
                          transport::Interrupt& interrupt, Fill fill,
                          Drain drain) {
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

}  // namespace hvd::collective
