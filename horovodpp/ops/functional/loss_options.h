// SPDX-License-Identifier: Apache-2.0
// What the losses have in common: their options.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// What becomes of the losses of the elements: they stay, or become one.
enum class Reduction { kNone, kMean, kSum };

struct NllOptions {
  Tensor weight = {};  // Of each class, [classes]; undefined: all 1.
  std::int64_t ignore_index = -100;  // This target has no loss.
  // A mean divides by the weights of the targets that are not ignored; if there
  // are none it is NaN.
  Reduction reduction = Reduction::kMean;
};

struct CrossEntropyOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::kMean;
  // So much of the target is spread evenly over all classes; in [0, 1].
  double label_smoothing = 0.0;
};

}  // namespace hvd
