// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/adasum_plane.h"

#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/ring/adasum_round.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

// The first round ends when all ranks have entered the call, so no later round
// is given up after outputs have been written.
absl::Status AdasumPlane::merge(std::span<const Piece> pieces,
                                const Reduction& reduction, const Call& call) {
  return run(call, [&](ChunkLink& link) -> absl::Status {
    std::span<const Piece> left = pieces;
    while (!left.empty()) {
      const std::size_t length =
          adasum_round_length(left, reduction.dtype, round_bytes_);
      const std::span<const Piece> now = left.first(length);
      left = left.subspan(length);
      if (total_count(now) == 0) continue;
      AdasumRound round(now, team(), reduction);
      HVD_RETURN_IF_ERROR(round.run(link));
    }
    return absl::OkStatus();
  });
}

}  // namespace hvd::collective
