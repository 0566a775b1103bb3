// SPDX-License-Identifier: Apache-2.0
// A ShmAdasumRound reduces some tensors by Adasum between ranks of a node, each
// tensor with dot products of its own, as one rank's part in it:
//
//   ShmAdasumRound round(tensors, seat, reduction);
//   HVD_RETURN_IF_ERROR(round.run());            // within a call on the board
//
// All tensors are one row of elements, of which each rank owns a slice. It gets
// that slice of everybody's vectors, and merges them along the tree of an
// AdasumRound. Before each level of it the ranks show each other the dot
// products of their slices, and all add them up in the order of the ranks. In
// the end each shows its slice of the result. A short row is everybody's slice:
// then there is nothing to show but the vectors.
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
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/collective/shm/seat.h"
#include "horovodpp/core/buffer.h"

namespace hvd::collective {

// Two vectors of which the first takes what becomes of them.
struct AdasumPair {
  int a = 0;
  int b = 0;
};

// The tree of so many ranks, from its leaves: pairs of a level are independent
// of each other. Ranks beyond the greatest power of two are merged first.
std::vector<std::vector<AdasumPair>> adasum_levels(int ranks);

class ShmAdasumRound {
 public:
  // Borrows its arguments. There is an element; the dtype is floating-point.
  ShmAdasumRound(std::span<const Piece> tensors, const BoardSeat& seat,
                 const Reduction& reduction);

  // Once, when a call on the board has begun. Takes memory for one accumulator
  // of each element; of a short row, for one of each rank's.
  //   (errors)  the board's; ResourceExhausted
  absl::Status run();

 private:
  Range slice_of(int rank) const;
  Range mine() const { return slice_of(seat_.rank); }
  // The i-th of the parts of a rank's slice at `length` elements each.
  Range part_of(int rank, std::uint64_t i, std::int64_t length) const;
  std::uint64_t parts(std::int64_t length) const;
  // At the beginning of each rank's slice.
  std::vector<PieceStream> streams() const;

  absl::Status share_vectors();
  absl::Status distribute_vectors();
  absl::Status merge(const std::vector<AdasumPair>& pairs);
  absl::Status sum_up(std::vector<PairProducts>& products);
  absl::Status show_results();

  // Calls f(tensor, first element in this slice, count) for each tensor's part
  // in it; for all of its parts, one after the other, if the slice is the row.
  template <typename F>
  void for_each_part(F f) const;
  // Loads what is next in `own` into this rank's vector from element `at` on.
  void load_own(PieceStream& own, std::int64_t at, std::int64_t count);
  // Of this slice of a rank's vector.
  std::byte* vector(int rank, std::int64_t element) const;
  std::int64_t slot_elements() const;

  const std::span<const Piece> tensors_;
  const BoardSeat& seat_;
  const DType dtype_;  // Of accumulators.
  const ReduceKernel kernel_;
  const AdasumRow row_;
  const std::int64_t count_;
  const bool is_short_;
  Buffer vectors_;
};

}  // namespace hvd::collective
