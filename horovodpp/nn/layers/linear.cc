// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/linear.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/matmul_ops.h"

namespace hvd::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features,
               const LinearOptions& options) {
  if (in_features <= 0 || out_features <= 0) {
    throw InvalidArgument(absl::StrCat("Linear: from ", in_features, " to ",
                                       out_features,
                                       " features; both must be positive"));
  }
  const double bound = kaiming_uniform_bound(in_features);
  weight_ = register_parameter(
      "weight", uniform({out_features, in_features}, bound, options.dtype));
  if (options.bias) {
    bias_ = register_parameter("bias",
                               uniform({out_features}, bound, options.dtype));
  }
}

Tensor Linear::forward(const Tensor& input) {
  return linear(input, weight_, bias_);
}

}  // namespace hvd::nn
