// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/resampling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

using autograd::Dims;

[[noreturn]] void refuse_input(const char* module, const char* wanted,
                               const Tensor& input) {
  throw InvalidArgument(absl::StrCat(module, ": wanted is ", wanted,
                                     ", but got ", input.describe()));
}

Tensor picked(const Tensor& x, std::int64_t dim,
              const std::vector<std::int64_t>& indices) {
  const auto count = static_cast<std::int64_t>(indices.size());
  return index_select(x, dim, from_vector(indices, {count}));
}

Tensor nearest(const Tensor& x, std::int64_t dim, std::int64_t size) {
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < size; ++i)
    from.push_back(i * x.size(dim) / size);
  return picked(x, dim, from);
}

// Between the two pixels around each place, weighted by their distance.
Tensor linear_along(const Tensor& x, std::int64_t dim, std::int64_t size,
                    bool align_corners) {
  const std::int64_t given = x.size(dim);
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<double> part;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<double>(i);
    const auto from = static_cast<double>(given);
    const auto to = static_cast<double>(size);
    double place = (at + 0.5) * from / to - 0.5;
    if (align_corners) place = size > 1 ? at * (from - 1) / (to - 1) : 0.0;
    place = std::max(place, 0.0);
    low.push_back(std::min(static_cast<std::int64_t>(place), given - 1));
    high.push_back(std::min(low.back() + 1, given - 1));
    part.push_back(place - static_cast<double>(low.back()));
  }
  Dims shape = Dims::filled(x.shape().size(), 1);
  shape[static_cast<std::size_t>(dim)] = size;
  const Tensor weight = from_vector(part, shape).to(x.dtype());
  const Tensor below = picked(x, dim, low);
  return below + (picked(x, dim, high) - below) * weight;
}

// The sources of a padded dimension.
std::vector<std::int64_t> padded_places(std::int64_t size, std::int64_t left,
                                        std::int64_t right, PadMode mode) {
  const std::int64_t wider = std::max(left, right);
  // The part that negative widths leave.
  const std::int64_t first = std::max<std::int64_t>(-left, 0);
  const std::int64_t kept = size - first + std::min<std::int64_t>(right, 0);
  const std::int64_t room = mode == PadMode::kReflect    ? size - 1
                            : mode == PadMode::kCircular ? kept
                                                         : wider;
  if (size <= 0 || wider > room || left + right + size <= 0) {
    throw InvalidArgument(absl::StrCat("Pad: widths ", left, " and ", right,
                                       " do not fit a dimension of ", size));
  }
  std::vector<std::int64_t> result;
  for (std::int64_t i = -left; i < size + right; ++i) {
    std::int64_t from = std::clamp<std::int64_t>(i, 0, size - 1);
    if (mode == PadMode::kReflect) from = 2 * from - i;
    if (mode == PadMode::kCircular) from = first + (i - first + kept) % kept;
    result.push_back(from);
  }
  return result;
}

// x with stride - 1 zeros between its elements along a dimension.
Tensor spread(const Tensor& x, std::int64_t dim, std::int64_t stride) {
  if (stride == 1 || x.size(dim) == 0) return x;
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(dim)] *= stride;
  std::vector<std::int64_t> widths(
      static_cast<std::size_t>(2 * (x.dim() - dim)), 0);
  widths[widths.size() - 1] = stride - 1;
  const Tensor apart = pad(unsqueeze(x, dim + 1), widths);
  return narrow(reshape(apart, shape), dim, 0, (x.size(dim) - 1) * stride + 1);
}

// The weight [out, in / groups, kh, kw] of the convolution of a spread image.
Tensor turned(const Tensor& weight, std::int64_t groups) {
  const std::int64_t in = weight.size(0) / groups;
  const std::int64_t out = weight.size(1);
  const std::int64_t kh = weight.size(2);
  const std::int64_t kw = weight.size(3);
  return flip(weight, {2, 3})
      .reshape({groups, in, out, kh, kw})
      .transpose(1, 2)
      .reshape({groups * out, in, kh, kw});
}

// [n, c, length] as images of one row, through `f`, and back.
template <typename F>
Tensor as_rows(const Tensor& input, const char* module, F f) {
  if (input.dim() != 3) refuse_input(module, "[n, c, length]", input);
  return squeeze(f(unsqueeze(input, 2)), 2);
}

}  // namespace

Tensor Upsample::forward(const Tensor& input) {
  if (input.dim() != 4 || input.size(2) == 0 || input.size(3) == 0) {
    refuse_input("Upsample", "[n, c, h, w] with pixels", input);
  }
  const auto& [size, scale, bilinear, align_corners] = options_;
  if (bilinear && !is_floating_point(input.dtype())) {
    throw InvalidArgument(
        absl::StrCat("Upsample: bilinear computes in floating point, not in ",
                     name_of(input.dtype()), "; convert with to()"));
  }
  const std::int64_t height =
      size.height > 0 ? size.height : input.size(2) * scale.height;
  const std::int64_t width =
      size.width > 0 ? size.width : input.size(3) * scale.width;
  if (!bilinear) return nearest(nearest(input, 2, height), 3, width);
  return linear_along(linear_along(input, 2, height, align_corners), 3, width,
                      align_corners);
}

Tensor PixelShuffle::forward(const Tensor& input) {
  const std::int64_t r = factor_;
  if (input.dim() < 3 || r <= 0 || input.size(-3) % (r * r) != 0) {
    refuse_input("PixelShuffle", "[..., c r^2, h, w]", input);
  }
  const std::int64_t c = input.size(-3) / (r * r);
  const std::int64_t h = input.size(-2);
  const std::int64_t w = input.size(-1);
  Dims shape = input.shape();
  shape[shape.size() - 3] = c;
  shape[shape.size() - 2] = h * r;
  shape[shape.size() - 1] = w * r;
  const std::int64_t items =
      c * h * w == 0 ? 0 : input.num_elements() / (c * h * w * r * r);
  return input.reshape({items, c, r, r, h, w})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape(shape);
}

Tensor PixelUnshuffle::forward(const Tensor& input) {
  const std::int64_t r = factor_;
  if (input.dim() < 3 || r <= 0 || input.size(-1) % r != 0 ||
      input.size(-2) % r != 0) {
    refuse_input("PixelUnshuffle", "[..., c, h r, w r]", input);
  }
  const std::int64_t c = input.size(-3);
  const std::int64_t h = input.size(-2) / r;
  const std::int64_t w = input.size(-1) / r;
  Dims shape = input.shape();
  shape[shape.size() - 3] = c * r * r;
  shape[shape.size() - 2] = h;
  shape[shape.size() - 1] = w;
  const std::int64_t items =
      c * h * w == 0 ? 0 : input.num_elements() / (c * h * w * r * r);
  return input.reshape({items, c, h, r, w, r})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape(shape);
}

Tensor Pad::forward(const Tensor& input) {
  if (mode_ == PadMode::kConstant) return pad(input, widths_, value_);
  if (widths_.size() % 2 != 0 || widths_.size() / 2 > input.shape().size()) {
    throw InvalidArgument(absl::StrCat("Pad: ", widths_.size(), " widths for ",
                                       input.describe()));
  }
  Tensor result = input;
  for (std::size_t i = 0; i < widths_.size(); i += 2) {
    const std::int64_t dim = input.dim() - 1 - static_cast<std::int64_t>(i / 2);
    result = picked(
        result, dim,
        padded_places(input.size(dim), widths_[i], widths_[i + 1], mode_));
  }
  return result;
}

Conv1d::Conv1d(std::int64_t in_channels, std::int64_t out_channels,
               std::int64_t kernel, const Conv1dOptions& options)
    : options_{.stride = {1, options.stride},
               .padding = {0, options.padding},
               .dilation = {1, options.dilation},
               .groups = options.groups} {
  const std::int64_t groups = options.groups;
  if (in_channels <= 0 || out_channels <= 0 || kernel <= 0 || groups <= 0 ||
      in_channels % groups != 0 || out_channels % groups != 0) {
    throw InvalidArgument(
        absl::StrCat("Conv1d: from ", in_channels, " to ", out_channels,
                     " channels in ", groups, " groups by a kernel of ", kernel,
                     "; all are positive, and groups divide the channels"));
  }
  const std::int64_t inputs = in_channels / groups;
  const double bound = kaiming_uniform_bound(inputs * kernel);
  weight_ = register_weight(
      "weight", uniform({out_channels, inputs, kernel}, bound, options.dtype));
  if (options.bias) {
    bias_ = register_parameter("bias",
                               uniform({out_channels}, bound, options.dtype));
  }
}

Tensor Conv1d::forward(const Tensor& input) {
  return as_rows(input, "Conv1d", [&](const Tensor& x) {
    return conv2d(x, unsqueeze(effective(weight_), 2), bias_, options_);
  });
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in_channels,
                                 std::int64_t out_channels, Pair kernel,
                                 const ConvTranspose2dOptions& options)
    : options_(options) {
  const std::int64_t groups = options.groups;
  if (in_channels <= 0 || out_channels <= 0 || kernel.height <= 0 ||
      kernel.width <= 0 || groups <= 0 || in_channels % groups != 0 ||
      out_channels % groups != 0 || options.stride.height <= 0 ||
      options.stride.width <= 0) {
    throw InvalidArgument(absl::StrCat(
        "ConvTranspose2d: from ", in_channels, " to ", out_channels,
        " channels in ", groups,
        " groups; sizes and strides are positive, and groups divide the "
        "channels"));
  }
  const std::int64_t outputs = out_channels / groups;
  const double bound =
      kaiming_uniform_bound(outputs * kernel.height * kernel.width);
  weight_ = register_weight(
      "weight", uniform({in_channels, outputs, kernel.height, kernel.width},
                        bound, options.dtype));
  if (options.bias) {
    bias_ = register_parameter("bias",
                               uniform({out_channels}, bound, options.dtype));
  }
}

Tensor ConvTranspose2d::forward(const Tensor& input) {
  if (input.dim() != 4 || input.size(1) != weight_.size(0)) {
    refuse_input("ConvTranspose2d", "[n, in, h, w]", input);
  }
  const ConvTranspose2dOptions& o = options_;
  const std::int64_t top =
      o.dilation.height * (weight_.size(2) - 1) - o.padding.height;
  const std::int64_t left =
      o.dilation.width * (weight_.size(3) - 1) - o.padding.width;
  const Tensor x = spread(spread(input, 2, o.stride.height), 3, o.stride.width);
  return conv2d(pad(x, {left, left + o.output_padding.width, top,
                        top + o.output_padding.height}),
                turned(effective(weight_), o.groups), bias_,
                {.dilation = o.dilation, .groups = o.groups});
}

Tensor MaxPool1d::forward(const Tensor& input) {
  return as_rows(input, "MaxPool1d", [&](const Tensor& x) {
    return max_pool2d(x,
                      {.kernel = {1, options_.kernel},
                       .stride = {options_.stride > 0 ? 1 : 0, options_.stride},
                       .padding = {0, options_.padding}});
  });
}

Tensor AvgPool1d::forward(const Tensor& input) {
  return as_rows(input, "AvgPool1d", [&](const Tensor& x) {
    return avg_pool2d(x,
                      {.kernel = {1, options_.kernel},
                       .stride = {options_.stride > 0 ? 1 : 0, options_.stride},
                       .padding = {0, options_.padding}});
  });
}

Tensor AdaptiveAvgPool1d::forward(const Tensor& input) {
  return as_rows(input, "AdaptiveAvgPool1d", [&](const Tensor& x) {
    return adaptive_avg_pool2d(x, {1, size_});
  });
}

}  // namespace hvd::nn
