// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/adasum_row.h"

#include <algorithm>

namespace hvd::collective {

std::size_t adasum_round_length(std::span<const Piece> tensors, DType dtype,
                                std::size_t round_bytes) {
  const std::size_t each = std::max(sizeof(float), size_of(dtype));
  std::size_t bytes = 0;
  std::size_t length = 0;
  for (; length < tensors.size(); ++length) {
    bytes += static_cast<std::size_t>(tensors[length].count) * each;
    if (bytes > round_bytes && length > 0) break;
  }
  return length;
}

AdasumRow::AdasumRow(std::span<const Piece> tensors, int parts,
                     std::size_t element_bytes) {
  std::int64_t at = 0;
  for (int part = 0; part < parts; ++part) {
    begins_.push_back(at);
    first_run_.push_back(pieces_.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const Piece& tensor = tensors[t];
      const std::int64_t even = tensor.count / parts;
      const std::int64_t longer = tensor.count % parts;
      const std::int64_t count = even + (part < longer ? 1 : 0);
      if (count == 0) continue;
      const std::int64_t skipped =
          part * even + std::min<std::int64_t>(part, longer);
      const std::size_t bytes =
          static_cast<std::size_t>(skipped) * element_bytes;
      pieces_.push_back(
          {.input = static_cast<const std::byte*>(tensor.input) + bytes,
           .output = static_cast<std::byte*>(tensor.output) + bytes,
           .count = count});
      tensors_.push_back(t);
      at += count;
    }
  }
  begins_.push_back(at);
  first_run_.push_back(pieces_.size());
}

}  // namespace hvd::collective
