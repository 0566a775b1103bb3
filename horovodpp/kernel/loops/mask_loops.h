// SPDX-License-Identifier: Apache-2.0
// The loop of dropout: Philox (philox.h) for many counters at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/kernel/philox.h"

namespace hvd::autograd {

struct MaskDraw {
  RandomState at;
  std::uint64_t threshold;  // A word below it keeps its element.
  float scale;
};

// out[i] = scale x[i] or 0. Word w of block 16 t + l, counted from draw.at,
// decides element 64 t + 16 w + l, for every vector width.
void apply_mask(const MaskDraw& draw, const float* x, float* out,
                std::size_t n);

}  // namespace hvd::autograd
