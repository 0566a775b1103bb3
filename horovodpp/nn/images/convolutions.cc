// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/images/convolutions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/images/by_dims.h"
#include "horovodpp/nn/init.h"

namespace hvd::nn {
namespace {

using autograd::Dims;

Dims dims_of(std::int64_t size) { return {size}; }
Dims dims_of(const Pair& size) { return {size.height, size.width}; }
Dims dims_of(const Triple& size) {
  return {size.depth, size.height, size.width};
}

struct Channels {
  std::int64_t in;
  std::int64_t out;
  std::int64_t groups;
};

// The kernel's sizes.
//   InvalidArgument  a number is not positive, or the groups do not divide the
//                    channels; names `module`
template <typename Size>
Dims checked_kernel(const char* module, const Channels& c, const Size& kernel,
                    const Size& stride) {
  const Dims sizes = dims_of(kernel), steps = dims_of(stride);
  const auto is_positive = [](std::int64_t n) { return n > 0; };
  if (c.in <= 0 || c.out <= 0 || c.groups <= 0 || c.in % c.groups != 0 ||
      c.out % c.groups != 0 ||
      !std::all_of(sizes.begin(), sizes.end(), is_positive) ||
      !std::all_of(steps.begin(), steps.end(), is_positive)) {
    throw InvalidArgument(absl::StrCat(
        module, sizes.size(), "d: from ", c.in, " to ", c.out, " channels in ",
        c.groups, " groups by a kernel of ", absl::StrJoin(sizes, "x"),
        " in steps of ", absl::StrJoin(steps, "x"),
        "; all are positive, and groups divide the channels"));
  }
  return sizes;
}

}  // namespace

void Convolution::register_parameters(const Parameters& wanted) {
  Dims shape = {wanted.first, wanted.second};
  std::int64_t inputs = wanted.second;
  for (const std::int64_t size : wanted.kernel) {
    shape.push_back(size);
    inputs *= size;
  }
  const double bound = kaiming_uniform_bound(inputs);
  weight_ = register_weight("weight", uniform(shape, bound, wanted.dtype));
  if (wanted.bias) {
    bias_ = register_parameter("bias",
                               uniform({wanted.channels}, bound, wanted.dtype));
  }
}

template <typename Size>
Conv<Size>::Conv(std::int64_t in_channels, std::int64_t out_channels,
                 Size kernel, const ConvOptions<Size>& options)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups,
               .same_padding = options.same_padding} {
  const Dims sizes =
      checked_kernel("Conv", {in_channels, out_channels, options.groups},
                     kernel, options.stride);
  register_parameters({.first = out_channels,
                       .second = in_channels / options.groups,
                       .kernel = sizes,
                       .channels = out_channels,
                       .bias = options.bias,
                       .dtype = options.dtype});
}

template <typename Size>
Tensor Conv<Size>::forward(const Tensor& input) {
  return by_dims<Size>(conv1d, conv2d, conv3d)(input, weight(), bias_,
                                               options_);
}

template <typename Size>
ConvTranspose<Size>::ConvTranspose(std::int64_t in_channels,
                                   std::int64_t out_channels, Size kernel,
                                   const ConvTransposeOptions<Size>& options)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .output_padding = options.output_padding,
               .dilation = options.dilation,
               .groups = options.groups} {
  const Dims sizes = checked_kernel("ConvTranspose",
                                    {in_channels, out_channels, options.groups},
                                    kernel, options.stride);
  register_parameters({.first = in_channels,
                       .second = out_channels / options.groups,
                       .kernel = sizes,
                       .channels = out_channels,
                       .bias = options.bias,
                       .dtype = options.dtype});
}

template <typename Size>
Tensor ConvTranspose<Size>::forward(const Tensor& input) {
  return by_dims<Size>(conv_transpose1d, conv_transpose2d, conv_transpose3d)(
      input, weight(), bias_, options_);
}

template class Conv<std::int64_t>;
template class Conv<Pair>;
template class Conv<Triple>;
template class ConvTranspose<std::int64_t>;
template class ConvTranspose<Pair>;
template class ConvTranspose<Triple>;

}  // namespace hvd::nn
