// SPDX-License-Identifier: Apache-2.0
// The options of the losses.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// How to reduce the losses of the elements.
enum class Reduction { kNone, kMean, kSum };

struct NllOptions {
  Tensor weight = {};                // Per class, [classes]; undefined: all 1.
  std::int64_t ignore_index = -100;  // This target has no loss.
  // A mean divides by the total weight of targets that are not ignored; it is
  // NaN without such targets.
  Reduction reduction = Reduction::kMean;
};

struct CrossEntropyOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::kMean;
  // The share of the target that is spread evenly over all classes; in [0, 1].
  double label_smoothing = 0.0;
};

}  // namespace hvd
