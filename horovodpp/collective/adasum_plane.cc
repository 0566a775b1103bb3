#include "horovodpp/collective/adasum_plane.h"

#include <algorithm>

#include "horovodpp/collective/adasum_round.h"
#include "horovodpp/collective/chunk_link.h"
#include "horovodpp/collective/piece_stream.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

// The first round ends when all ranks have entered the call, so none of the
// later ones is given up after outputs have been written.
absl::Status AdasumPlane::merge(std::span<const Piece> pieces,
                                const Reduction& reduction, const Call& call) {
  return run(call, [&](ChunkLink& link) -> absl::Status {
    std::span<const Piece> left = pieces;
    while (!left.empty()) {
      const std::size_t length = next_round(left, reduction.dtype);
      const std::span<const Piece> now = left.first(length);
      left = left.subspan(length);
      if (total_count(now) == 0) continue;
      AdasumRound round(now, {members(), rank()}, reduction);
      HVD_RETURN_IF_ERROR(round.run(link));
    }
    return absl::OkStatus();
  });
}

std::size_t AdasumPlane::next_round(std::span<const Piece> pieces,
                                    DType dtype) const {
  const std::size_t each = std::max(sizeof(float), size_of(dtype));
  std::size_t bytes = 0;
  std::size_t length = 0;
  for (; length < pieces.size(); ++length) {
    bytes += static_cast<std::size_t>(pieces[length].count) * each;
    if (bytes > round_bytes_ && length > 0) break;
  }
  return length;
}

}  // namespace hvd::collective
