// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al., "RoFormer", 2021).
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct RotaryOptions {
  double base = 10000.0;
  std::int64_t offset = 0;  // The position of the first row.
  // The position of each row, instead of offset, offset + 1, ...: those of
  // packed sequences start again at 0.
  std::vector<std::int64_t> positions = {};
  // Element 2i is paired with 2i + 1. Otherwise i is paired with width / 2 + i,
  // as in the Llama checkpoints of Hugging Face.
  bool interleaved = false;
};

// Rotates pair i of the elements of each row by position / base^(2i / width):
// x [..., rows, width] -> the same. The angles have no derivative.
//   InvalidArgument  the width is odd, or there is not a position for each row
Tensor rotary_embedding(const Tensor& x, const RotaryOptions& options = {});

}  // namespace hvd
