// SPDX-License-Identifier: Apache-2.0
// The loop behind dropout: Philox (philox.h) for many counters at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/kernel/philox.h"

namespace hvd::autograd {

struct MaskDraw {
  RandomState at;
  std::uint64_t threshold;  // Words below it keep their element.
  float scale;
};

// out[i] = scale x[i] or 0. Element 64 t + 16 w + l is decided by word w of
// block 16 t + l, counted from draw.at: whatever the width of vectors.
void apply_mask(const MaskDraw& draw, const float* x, float* out,
                std::size_t n);

}  // namespace hvd::autograd
