// How the calls of a ShmPlane use its board: for the plane's own .cc files.
#pragma once

#include <utility>

#include "horovodpp/collective/shm_plane.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

// Steps, one or more, in which so many bytes go by in chunks.
inline std::uint64_t steps_for(std::size_t bytes, std::size_t chunk_bytes) {
  return bytes == 0 ? 1 : (bytes - 1) / chunk_bytes + 1;
}

template <typename Body>
absl::Status ShmPlane::on_board(const ShmBoard::Label& label, Body body) {
  HVD_RETURN_IF_ERROR(board_.begin(members_, label));
  const absl::Status status = body();
  if (!status.ok()) return board_.give_up(status);
  board_.end();
  return absl::OkStatus();
}

template <typename Fill, typename Drain>
absl::Status ShmPlane::step_through(std::uint64_t steps, const Call& call,
                                    Fill fill, Drain drain) {
  const std::uint64_t first = board_.steps();
  const auto arrive = [&](std::uint64_t i) {
    fill(i, board_.mine());
    board_.arrive();
  };
  arrive(0);
  for (std::uint64_t i = 0; i < steps; ++i) {
    HVD_RETURN_IF_ERROR(board_.wait_for_arrivals(first + i, call.watch));
    if (i + 1 < steps) arrive(i + 1);
    HVD_RETURN_IF_ERROR(drain(i, first + i));
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
