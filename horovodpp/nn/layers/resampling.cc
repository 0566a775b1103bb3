// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/resampling.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
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

}  // namespace

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

}  // namespace hvd::nn
