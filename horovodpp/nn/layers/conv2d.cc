// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/conv2d.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/nn/init.h"

namespace hvd::nn {

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, Pair kernel,
               const Conv2dOptions& options)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups} {
  const std::int64_t groups = options.groups;
  if (in_channels <= 0 || out_channels <= 0 || kernel.height <= 0 ||
      kernel.width <= 0 || groups <= 0) {
    throw InvalidArgument(
        absl::StrCat("Conv2d: from ", in_channels, " to ", out_channels,
                     " channels in ", groups, " groups by a kernel of ",
                     kernel.height, "x", kernel.width, "; all are positive"));
  }
  if (in_channels % groups != 0 || out_channels % groups != 0) {
    throw InvalidArgument(absl::StrCat("Conv2d: ", groups,
                                       " groups do not divide ", in_channels,
                                       " and ", out_channels, " channels"));
  }
  const std::int64_t inputs = in_channels / groups;
  const double bound =
      kaiming_uniform_bound(inputs * kernel.height * kernel.width);
  weight_ = register_parameter(
      "weight", uniform({out_channels, inputs, kernel.height, kernel.width},
                        bound, options.dtype));
  if (options.bias) {
    bias_ = register_parameter("bias",
                               uniform({out_channels}, bound, options.dtype));
  }
}

Tensor Conv2d::forward(const Tensor& input) {
  return conv2d(input, weight_, bias_, options_);
}

}  // namespace hvd::nn
