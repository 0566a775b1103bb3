#include "horovodpp/collective/shm_adasum_plane.h"

#include "horovodpp/collective/adasum_round.h"
#include "horovodpp/collective/piece_stream.h"
#include "horovodpp/collective/shm_adasum_round.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status ShmAdasumPlane::merge(std::span<const Piece> pieces,
                                   const Reduction& reduction,
                                   const Call& call) {
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * size_of(reduction.dtype);
  HVD_RETURN_IF_ERROR(
      board_.begin(members_, {.tag = call.tag, .kind = 'r', .bytes = bytes}));
  const absl::Status status = merge_in_rounds(pieces, reduction, call);
  if (!status.ok()) return board_.give_up(status);
  board_.end();
  return absl::OkStatus();
}

absl::Status ShmAdasumPlane::merge_in_rounds(std::span<const Piece> pieces,
                                             const Reduction& reduction,
                                             const Call& call) {
  while (!pieces.empty()) {
    const std::size_t length =
        adasum_round_length(pieces, reduction.dtype, round_bytes_);
    const std::span<const Piece> now = pieces.first(length);
    pieces = pieces.subspan(length);
    if (total_count(now) == 0) continue;
    ShmAdasumRound round(now,
                         {.board = board_,
                          .members = members_,
                          .rank = rank(),
                          .writer = writer_,
                          .interrupt = call.interrupt},
                         reduction);
    HVD_RETURN_IF_ERROR(round.run());
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
