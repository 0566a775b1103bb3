// SPDX-License-Identifier: Apache-2.0
// A Piece is one tensor's part in a fused call: where its elements come from, and
// where results go.
#pragma once

#include <cstdint>
#include <span>

namespace hvd::collective {

// Counts are in elements. In an allreduce `output` may be `input`; otherwise the
// two do not overlap.
struct Piece {
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t count = 0;
};

// The elements of all pieces together.
inline std::int64_t total_count(std::span<const Piece> pieces) {
  std::int64_t count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

}  // namespace hvd::collective
