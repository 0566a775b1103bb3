// SPDX-License-Identifier: Apache-2.0
// An AdasumPlane is a RingPlane that also reduces by Adasum, which most other
// planes do not support: an allreduce with ReduceOp::kAdasum of any
// floating-point type between any number of ranks. For the method and the order
// in which ranks are merged see adasum_round.h.
//
// Tensors of one call are merged independently of each other. Small ones go
// through a round together. A round's memory is two accumulators for each
// element; one of the two takes no more than round_bytes, unless a single
// tensor needs more. A reducescatter by Adasum is refused. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/adasum.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/ring/team.h"
#include "horovodpp/core/buffer.h"

namespace hvd::collective {

// An AdasumRound reduces some tensors by Adasum between ranks, each tensor with
// its own dot products. It is one rank's part in the round:
//
//   AdasumRound round(tensors, {members, rank}, reduction);
//   HVD_RETURN_IF_ERROR(round.run(link));
//
// The method is vector halving with distance doubling (Maleki et al., section
// 3.4):
//
// - All tensors are one row of elements. At distance 1, 2, 4 … a rank and its
//   peer, whose numbers differ in that bit, own the same segment of the row,
//   each of another vector. Each keeps one half of the segment and sends the
//   other, so that it has its half of both vectors.
// - The dot products are summed over all ranks that hold parts of the two
//   vectors, 2 * distance ranks, and each rank merges its half.
// - In the end each rank owns one segment of the result. On the way back the
//   halves are put together again.
// - Ranks beyond the largest power of two first give their vectors to the first
//   ranks, and get the result from them.
//
// So the result is that of a tree, with P the largest power of two. Rank r is
// first merged with r + P, if that exists. Then 0 is merged with 1, 2 with 3 …,
// then these pairs with each other, and so on. The tree is not symmetric in the
// ranks.
//
// Outputs are written when all ranks have contributed. Not thread-safe.
class AdasumRound {
 public:
  // Borrows its arguments. Requires two or more members, and an element; the
  // dtype is floating-point.
  AdasumRound(std::span<const Piece> tensors, const RingTeam& team,
              const Reduction& reduction);

  // Call it once. Allocates two accumulators for each element.
  //   (errors)  the link's errors; ResourceExhausted
  absl::Status run(ChunkLink& link);

 private:
  // Parts of the row.
  struct Segment {
    int begin = 0;
    int end = 0;
  };
  // The halves of a segment, as a rank and its peer see them.
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
  // Converts the segment that this rank owns to results.
  void finish();

  // The products of each tensor's part in `segment`; theirs_ holds the other
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
  const int core_;     // Largest power of two <= ranks.
  const DType dtype_;  // The accumulators'.
  const ReduceKernel kernel_;
  const AdasumRow row_;
  const std::int64_t count_;
  Segment own_;
  std::vector<Segment> owned_;  // Before each distance.
  Buffer mine_;                 // The row: accumulators, later results.
  Buffer theirs_;
};

struct AdasumOptions {
  RingOptions ring = {};
  std::size_t round_bytes = std::size_t{32} << 20;
};

class AdasumPlane : public RingPlane {
 public:
  // As RingPlane's.
  AdasumPlane(transport::Communicator& communicator, std::vector<int> members,
              const transport::WaitPolicy& waiting,
              const AdasumOptions& options = {})
      : RingPlane(communicator, std::move(members), waiting, options.ring),
        round_bytes_(options.round_bytes) {}

  std::string name() const override { return "adasum"; }
  bool reduces_by(ReduceOp) const override { return true; }

 private:
  absl::Status merge(std::span<const Piece> pieces, const Reduction& reduction,
                     const Call& call) override;

  const std::size_t round_bytes_;
};

}  // namespace hvd::collective
