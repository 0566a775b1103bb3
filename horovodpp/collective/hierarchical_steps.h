// Steps of a call on the board of a node: for the HierarchicalPlane's files.
#pragma once

#include <cstdint>

#include "horovodpp/collective/shm_board.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

// Takes the next `steps` steps of the call on `board`, one or more: fill(i,
// slot) writes what this rank shows in the i-th, drain(i, step) uses what
// everybody shows. fill runs one step ahead.
template <typename Fill, typename Drain>
absl::Status step_on_node(ShmBoard& board, std::uint64_t steps,
                          transport::Watch& watch, Fill fill, Drain drain) {
  const std::uint64_t first = board.steps();
  const auto arrive = [&](std::uint64_t i) {
    fill(i, board.mine());
    board.arrive();
  };
  arrive(0);
  for (std::uint64_t i = 0; i < steps; ++i) {
    HVD_RETURN_IF_ERROR(board.wait_for_arrivals(first + i, watch));
    if (i + 1 < steps) arrive(i + 1);
    drain(i, first + i);
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
