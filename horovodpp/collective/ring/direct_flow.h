// SPDX-License-Identifier: Apache-2.0
// What goes between the ranks of a reduction that all of them share directly,
// apart from how it travels.
//
// The data is cut into a segment for each rank, and a segment into rounds of at
// most a slot. In each round every rank sends every other one what it
// contributes to that one's segment; a rank that has all contributions to its
// own segment reduces them, and sends the results to those that need them (the
// pairwise exchange of Thakur, Rabenseifner and Gropp, "Optimization of
// collective communication operations in MPICH", 2005, section 4.3, there and
// back). So a rank sends and receives as much as in a ring, in two steps
// instead of two for each rank, and, which is the point of it: all
// contributions to an element come together in one place. They are added up in
// one order, wherever the cuts fall.
//
// Ranks here are positions among those that take part. Not thread-safe.
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

  // Elements; and the bytes of one as it is contributed, and as a result.
  virtual std::int64_t count() const = 0;
  virtual std::size_t contribution_bytes() const = 0;
  virtual std::size_t result_bytes() const = 0;

  // The part of `range` whose results `rank` needs; equal on all ranks.
  virtual Range needed(int rank, const Range& range) const = 0;

  // Fills `slot` with what this rank contributes to `range`, of another one's
  // segment.
  virtual void load(const Range& range, std::byte* slot) = 0;

  // Reduces what all contribute to `range`, of this rank's segment: theirs[r] is
  // rank r's; that of this rank is nullptr. Leaves the results in `slot`, which
  // is one of them, and takes in what it needs of them; the others are used up.
  virtual void reduce(const Range& range, std::span<std::byte* const> theirs,
                      std::byte* slot) = 0;

  // Takes in the results of `range`, all of which this rank needs.
  virtual void take_in(const Range& range, const std::byte* slot) = 0;
};

// Tensors: contributions travel as elements, and are combined in the order of
// the ranks.
class TensorFlow : public DirectFlow {
 public:
  // needs[r] is what rank r gets of the pieces, seen as one tensor; what this
  // rank gets has an output. Borrows all but `shape`.
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
