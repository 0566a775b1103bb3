// SPDX-License-Identifier: Apache-2.0
// A Piece is one tensor of a fused call: the source of its elements, and the
// destination of its results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "horovodpp/core/dtype.h"

namespace hvd::collective {

// Counts are in elements. In an allreduce, and in a reducescatter on a rank
// that gets the whole piece, `output` may be `input`. Otherwise they do not
// overlap.
struct Piece {
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t count = 0;
};

// The bytes of its input, and of its output.
inline std::size_t bytes_of(const Piece& piece, DType dtype) {
  return static_cast<std::size_t>(piece.count) * size_of(dtype);
}

// The elements of all pieces together.
inline std::int64_t total_count(std::span<const Piece> pieces) {
  std::int64_t count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

}  // namespace hvd::collective
