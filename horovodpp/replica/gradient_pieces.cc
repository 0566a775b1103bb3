// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_pieces.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {
namespace {

[[noreturn]] void refuse_piece(const GradientPiece& piece,
                               const std::string& why) {
  throw Error(absl::InvalidArgumentError(absl::StrCat(
      "a buffer of gradients: the piece '", piece.key, "', ", piece.elements,
      " elements from ", piece.offset, " on, ", why, ". No piece was added")));
}

}  // namespace

void check_pieces(const std::vector<GradientPiece>& pieces,
                  std::int64_t elements) {
  std::vector<const GradientPiece*> by_offset;
  absl::flat_hash_set<std::string_view> keys;
  for (const GradientPiece& piece : pieces) {
    by_offset.push_back(&piece);
    if (piece.offset < 0 || piece.elements < 0 || piece.offset > elements ||
        piece.elements > elements - piece.offset) {
      refuse_piece(piece, absl::StrCat("does not lie within its ", elements));
    }
    if (!keys.insert(piece.key).second) {
      refuse_piece(piece, "has the key of another one; give it one of its own");
    }
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const GradientPiece* a, const GradientPiece* b) {
              return std::pair(a->offset, a->elements) <
                     std::pair(b->offset, b->elements);
            });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const GradientPiece& before = *by_offset[i - 1];
    if (before.offset + before.elements <= by_offset[i]->offset) continue;
    refuse_piece(*by_offset[i],
                 absl::StrCat("shares elements with '", before.key, "'"));
  }
}

TensorView view_of(const TensorView& buffer, const GradientPiece& piece) {
  auto* const bytes = static_cast<std::byte*>(buffer.data());
  const std::size_t offset =
      static_cast<std::size_t>(piece.offset) * size_of(buffer.dtype());
  return {bytes + offset, buffer.dtype(), Shape({piece.elements}),
          buffer.device()};
}

}  // namespace hvd::replica
