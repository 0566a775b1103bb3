// How the calls of a ShmPlane use its board: for the plane's own .cc files.
#pragma once

#include <utility>

#include "horovodpp/collective/board_steps.h"
#include "horovodpp/collective/shm_plane.h"

namespace hvd::collective {

// Steps, one or more, in which so many bytes go by in chunks.
inline std::uint64_t steps_for(std::size_t bytes, std::size_t chunk_bytes) {
  return bytes == 0 ? 1 : (bytes - 1) / chunk_bytes + 1;
}

template <typename Body>
absl::Status ShmPlane::on_board(const ShmBoard::Label& label, Body body) {
  return call_on_board(board_, members_, label, std::move(body));
}

template <typename Fill, typename Drain>
absl::Status ShmPlane::step_through(std::uint64_t steps, const Call& call,
                                    Fill fill, Drain drain) {
  return step_on_node(board_, steps, call.interrupt, std::move(fill),
                      std::move(drain));
}

}  // namespace hvd::collective
