// SPDX-License-Identifier: Apache-2.0
// An AdasumRound reduces some tensors by Adasum between ranks, each tensor with
// dot products of its own, as one rank's part in it:
//
//   AdasumRound round(tensors, {members, rank}, reduction);
//   HVD_RETURN_IF_ERROR(round.run(link));
//
// Vector halving, distance doubling (Maleki et al., section 3.4). All tensors
// are one row of elements. At distance 1, 2, 4 … a rank and its peer, whose
// numbers differ in that bit, own the same segment of the row, each of another
// vector; each keeps one half of it and gives the other away, so that it has
// this half of both vectors. The dot products are summed over all ranks that
// hold parts of the two vectors, 2 * distance of them, and each rank merges its
// half. In the end each owns one segment of the result, and on the way back the
// halves are put together again. Ranks beyond the greatest power of two give
// their vectors to the first ranks before, and get the result from them.
//
// So the result is that of a tree: where P is the greatest power of two, rank r
// is merged with r + P if there is one; then 0 with 1, 2 with 3 …; then these
// pairs with each other, and so on. It is not symmetric in the ranks.
//
// Outputs are written when all ranks have contributed. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/adasum_math.h"
#include "horovodpp/collective/reduce/adasum_row.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/team.h"
#include "horovodpp/core/buffer.h"

namespace hvd::collective {

class AdasumRound {
 public:
  // Borrows its arguments. There are two or more members, and an element; the dtype is floating-point.
  AdasumRound(std::span<const Piece> tensors, const RingTeam& team,
              const Reduction& reduction);

  // Once. Takes memory for two accumulators of each element.
  //   (errors)  the link's; ResourceExhausted
  absl::Status run(ChunkLink& link);

 private:
  // Parts of the row.
  struct Segment {
    int begin = 0;
    int end = 0;
  };
  // A segment in two, as a rank and its peer see it.
  struct Halves {
    Segment kept;
    Segment given;
  };

  bool is_extra() const { return team_.rank >= core_; }
  bool has_extra() const { return team_.rank + core_ < team_.ranks(); }
  bool is_lower(int distance) const { return (team_.rank & distance) == 0; }
  Halves halves_of(const Segment& segment, int distance) const;
  Range elements(const Segment& segment) const {
    const std::int64_t begin = row_.begin(segment.begin);
    return {begin, row_.begin(segment.end) - begin};
  }
  Segment all() const { return {.begin = 0, .end = core_}; }

  absl::Status allocate();
  void load();
  void unpack() const;

  absl::Status give_all(ChunkLink& link);
  absl::Status take_in_extra(ChunkLink& link);
  absl::Status descend(int distance, ChunkLink& link);
  absl::Status ascend(int distance, ChunkLink& link);
  // Makes results of the segment that this rank owns.
  void finish();

  // Of each tensor's part in `segment`, of which theirs_ holds the other
  // vector's.
  std::vector<PairProducts> measure(const Segment& segment, bool mine_is_a);
  absl::Status sum_up(std::vector<PairProducts>& products, int distance,
                      ChunkLink& link);
  void merge(const Segment& segment, bool mine_is_a,
             const std::vector<PairProducts>& products);
  std::byte* mine(std::int64_t element) const;
  std::byte* theirs(std::int64_t element) const;
  std::span<std::byte> accumulators(const Segment& segment) const;
  std::span<std::byte> results(const Segment& segment) const;
  // Sends `out` to the rank at `position` and receives `in` from it.
  absl::Status exchange(int position, std::span<const std::byte> out,
                        std::span<std::byte> in, ChunkLink& link) const;

  const std::span<const Piece> tensors_;
  const RingTeam team_;
  const int core_;     // The greatest power of two that is not above the ranks.
  const DType dtype_;  // Of accumulators.
  const ReduceKernel kernel_;
  const AdasumRow row_;
  const std::int64_t count_;
  Segment own_;
  std::vector<Segment> owned_;  // Before, at each distance.
  Buffer mine_;                 // The row: accumulators, in the end results.
  Buffer theirs_;
};

}  // namespace hvd::collective
