// SPDX-License-Identifier: Apache-2.0
// A ShmAdasumPlane is a ShmPlane that also reduces by Adasum: an allreduce with
// ReduceOp::kAdasum of any floating-point type between any number of ranks of a
// node. adasum_round.h describes the algorithm.
//
// Tensors of one call are merged independently. Small tensors share a round. A
// round allocates an accumulator for each element: at most round_bytes, unless
// a single tensor needs more. A reducescatter by Adasum is refused. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/reduce/adasum.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/core/buffer.h"

namespace hvd::collective {

// A ShmAdasumRound is one rank's part in an Adasum of some tensors between
// ranks of a node. Each tensor has its own dot products:
//
//   ShmAdasumRound round(tensors, seat, reduction);
//   HVD_RETURN_IF_ERROR(round.run());            // within a call on the board
//
// All tensors form one row of elements, of which each rank owns a slice:
// - A rank receives its slice of all ranks' vectors and merges them along the
//   tree of adasum_levels().
// - Before each level the ranks show the dot products of their slices. All
//   ranks add these in rank order.
// - At the end each rank shows its slice of the result.
//
// Every rank merges a short row as a whole, so the ranks show only their
// vectors.
//
// Outputs are written after all ranks have contributed. Not thread-safe.

// Two vectors; the first receives the result.
struct AdasumPair {
  int a = 0;
  int b = 0;
};

// Returns the merge tree for so many ranks, from its leaves. Pairs of a level
// are independent. Ranks beyond the greatest power of two are merged first.
std::vector<std::vector<AdasumPair>> adasum_levels(int ranks);

class ShmAdasumRound {
 public:
  // Borrows its arguments. Requires at least one element and a floating-point
  // dtype.
  ShmAdasumRound(std::span<const Piece> tensors, const BoardSeat& seat,
                 const Reduction& reduction);

  // Call once, after a call on the board has begun. Allocates one accumulator
  // for each element; for a short row, one for each element of each rank.
  //   (errors)  the board's; ResourceExhausted
  absl::Status run();

 private:
  Range slice_of(int rank) const;
  Range mine() const { return slice_of(seat_.rank); }
  // Part i of a rank's slice, with parts of `length` elements.
  Range part_of(int rank, std::uint64_t i, std::int64_t length) const;
  std::uint64_t parts(std::int64_t length) const;
  // Streams at the beginning of each rank's slice.
  std::vector<PieceStream> streams() const;

  absl::Status share_vectors();
  absl::Status distribute_vectors();
  absl::Status merge(const std::vector<AdasumPair>& pairs);
  absl::Status sum_up(std::vector<PairProducts>& products);
  absl::Status show_results();

  // Calls f(tensor, first element in this slice, count) for the part of each
  // tensor in this slice. If the slice is the whole row, f gets all of a
  // tensor's parts in turn.
  template <typename F>
  void for_each_part(F f) const;
  // Loads the next `count` elements of `own` into this rank's vector, from
  // element `at` on.
  void load_own(PieceStream& own, std::int64_t at, std::int64_t count);
  // The address of an element in this slice of a rank's vector.
  std::byte* vector(int rank, std::int64_t element) const;
  std::int64_t slot_elements() const;

  const std::span<const Piece> tensors_;
  const BoardSeat& seat_;
  const DType dtype_;  // Type of the accumulators.
  const ReduceKernel kernel_;
  const AdasumRow row_;
  const std::int64_t count_;
  const bool is_short_;
  Buffer vectors_;
};

class ShmAdasumPlane : public ShmPlane {
 public:
  static constexpr std::size_t kRoundBytes = std::size_t{32} << 20;

  // See ShmPlane's constructors.
  ShmAdasumPlane(ShmBoard& board, std::vector<int> members,
                 std::size_t round_bytes = kRoundBytes)
      : ShmPlane(board, std::move(members)), round_bytes_(round_bytes) {}

  std::string name() const override { return "shm-adasum"; }
  bool reduces_by(ReduceOp) const override { return true; }

 private:
  absl::Status merge(std::span<const Piece> pieces, const Reduction& reduction,
                     const Call& call) override;
  absl::Status merge_in_rounds(std::span<const Piece> pieces,
                               const Reduction& reduction,
                               const BoardSeat& seat);

  const std::size_t round_bytes_;
};

}  // namespace hvd::collective
