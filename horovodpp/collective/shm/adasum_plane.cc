// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/adasum_plane.h"

#include "horovodpp/collective/reduce/adasum_row.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/shm/adasum_round.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status ShmAdasumPlane::merge(std::span<const Piece> pieces,
                                   const Reduction& reduction,
                                   const Call& call) {
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * size_of(reduction.dtype);
  const BoardSeat seat = seat_in(call);
  return seat.call({.tag = call.tag, .kind = 'r', .bytes = bytes},
                   [&] { return merge_in_rounds(pieces, reduction, seat); });
}

absl::Status ShmAdasumPlane::merge_in_rounds(std::span<const Piece> pieces,
                                             const Reduction& reduction,
                                             const BoardSeat& seat) {
  while (!pieces.empty()) {
    const std::size_t length =
        adasum_round_length(pieces, reduction.dtype, round_bytes_);
    const std::span<const Piece> now = pieces.first(length);
    pieces = pieces.subspan(length);
    if (total_count(now) == 0) continue;
    ShmAdasumRound round(now, seat, reduction);
    HVD_RETURN_IF_ERROR(round.run());
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
