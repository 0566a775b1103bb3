// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/dropout.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/ops/functional/dropout.h"

namespace hvd::nn {

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1)) {
    throw InvalidArgument(
        absl::StrCat("Dropout: the probability ", p, " is not in [0, 1]"));
  }
}

Tensor Dropout::forward(const Tensor& input) {
  return dropout(input, p_, is_training());
}

}  // namespace hvd::nn
