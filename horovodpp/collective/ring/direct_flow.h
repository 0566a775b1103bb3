// SPDX-License-Identifier: Apache-2.0
// A DirectFlow is the data of a reduction that its ranks exchange directly,
// apart from the transport.
//
// The data is cut into a segment for each rank, and a segment into rounds of at
// most a slot. In each round every rank sends every other one its contribution
// to that one's segment. A rank that has all contributions to its own segment
// reduces them, and sends the results to the ranks that need them. (This is the
// pairwise exchange of Thakur, Rabenseifner and Gropp, "Optimization of
// collective communication operations in MPICH", 2005, section 4.3, in both
// directions.) A rank sends and receives as much as in a ring, in two steps
// instead of two for each rank. Above all, one rank has all contributions to an
// element, and adds them in one order, wherever the cuts are.
//
// Ranks here are positions among the participants. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece_stream.h"

namespace hvd::collective {

struct DirectShape {
  int rank = 0;
  int ranks = 2;
};

class DirectFlow {
 public:
  virtual ~DirectFlow() = default;

  // The number of elements; and the bytes of a contributed element, and of a
  // result.
  virtual std::int64_t count() const = 0;
  virtual std::size_t contribution_bytes() const = 0;
  virtual std::size_t result_bytes() const = 0;

  // The part of `range` whose results `rank` needs; equal on all ranks.
  virtual Range needed(int rank, const Range& range) const = 0;

  // Fills `slot` with this rank's contribution to `range`, of another rank's
  // segment.
  virtual void load(const Range& range, std::byte* slot) = 0;

  // Reduces all contributions to `range`, of this rank's segment: theirs[r] is
  // rank r's; this rank's is nullptr. Leaves the results in `slot`, which is
  // one of the contributions, and takes in the results that this rank needs.
  // The other contributions are overwritten.
  virtual void reduce(const Range& range, std::span<std::byte* const> theirs,
                      std::byte* slot) = 0;

  // Takes in the results of `range`, all of which this rank needs.
  virtual void take_in(const Range& range, const std::byte* slot) = 0;
};

// The flow of tensors: contributions travel as elements, and are combined in
// the order of the ranks.
class TensorFlow : public DirectFlow {
 public:
  // needs[r] is rank r's range of the pieces, seen as one tensor; this rank's
  // range has outputs. Borrows all but `shape`.
  TensorFlow(const DirectShape& shape, std::span<const Piece> pieces,
             std::span<const Range> needs, const ReduceKernel& kernel);

  std::int64_t count() const override { return count_; }
  std::size_t contribution_bytes() const override {
    return kernel_.element_bytes();
  }
  std::size_t result_bytes() const override { return kernel_.element_bytes(); }
  Range needed(int rank, const Range& range) const override;
  void load(const Range& range, std::byte* slot) override;
  void reduce(const Range& range, std::span<std::byte* const> theirs,
              std::byte* slot) override;
  void take_in(const Range& range, const std::byte* slot) override;

 private:
  const DirectShape shape_;
  const std::span<const Range> needs_;
  const ReduceKernel& kernel_;
  const std::int64_t count_;
  PieceStream inputs_;
  PieceStream own_;
  PieceStream outputs_;
  std::vector<const void*> contributions_;
};

}  // namespace hvd::collective
