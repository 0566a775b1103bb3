// SPDX-License-Identifier: Apache-2.0
// A PieceStream reads the pieces of a fused call as if they were one tensor.
// Its position moves through their elements; it copies from the inputs or to
// the outputs at that position.
//
//   PieceStream inputs(pieces, size_of(dtype));
//   inputs.pack(staging, 1000);                 // the first 1000 elements
//   inputs.seek(5000);
//   for (Piece run = inputs.take(1000); ...     // the same, without a copy
//
// A move costs nothing for pieces that it neither touches nor passes; a seek
// costs as much as there are pieces between. Pieces without elements are
// skipped. A piece that is only read needs no output. Borrows the pieces. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/slot_writer.h"

namespace hvd::collective {

class PieceStream {
 public:
  PieceStream(std::span<const Piece> pieces, std::size_t element_bytes)
      : pieces_(pieces), element_bytes_(element_bytes) {}

  // Moves to `element` of the whole, 0 <= element <= total_count.
  void seek(std::int64_t element);

  // Returns the next contiguous elements, at most `most`, and moves past them.
  // The count is zero only if `most` is, or at the end.
  Piece take(std::int64_t most);

  // Copies the next `count` elements from the inputs to `to`, or from `from` to
  // the outputs, and moves past them; stops at the end.
  void pack(std::byte* to, std::int64_t count);
  void unpack(const std::byte* from, std::int64_t count);
  // As pack(), to memory that other ranks have read.
  void pack(SlotWriter& writer, std::byte* to, std::int64_t count);
  // Moves past the next `count` elements.
  void skip(std::int64_t count) { seek(begin_ + offset_ + count); }

 private:
  template <typename Move>
  void move(std::int64_t count, Move move);

  std::span<const Piece> pieces_;
  std::size_t element_bytes_;
  std::size_t piece_ = 0;    // The position's piece,
  std::int64_t offset_ = 0;  // its element in that piece,
  std::int64_t begin_ = 0;   // and that piece's place in the whole.
};

}  // namespace hvd::collective
