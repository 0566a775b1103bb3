// SPDX-License-Identifier: Apache-2.0
// Modules that resize, pad or rearrange images, with PyTorch's names and values.
// They are compositions of the operations of ops.
//
//   hvd::nn::Upsample up(
//       {.scale = {2}, .mode = hvd::InterpolateMode::kLinear});
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/sampling/interpolate.h"

namespace HVD_EXPORT hvd {
namespace nn {

using UpsampleOptions = InterpolateOptions;

// interpolate(): [n, c, size] -> [n, c, size], of 1, 2 or 3 dimensions.
class Upsample : public Module {
 public:
  explicit Upsample(const UpsampleOptions& options) : options_(options) {}
  //   InvalidArgument  as of interpolate()
  Tensor forward(const Tensor& input) override {
    return interpolate(input, options_);
  }

 private:
  const UpsampleOptions options_;
};

// [..., c r^2, h, w] -> [..., c, h r, w r]
class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(std::int64_t factor) : factor_(factor) {}
  //   InvalidArgument  r^2 does not divide the channels
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t factor_;
};

// [..., c, h r, w r] -> [..., c r^2, h, w]
class PixelUnshuffle : public Module {
 public:
  explicit PixelUnshuffle(std::int64_t factor) : factor_(factor) {}
  //   InvalidArgument  r does not divide the height and the width
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t factor_;
};

// Content of padding: a constant, the pixels mirrored at the edge, the edge, or
// the other side.
enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

// Widths are {left, right} of the last dimension, then of the one before, and
// so on: PyTorch's ConstantPad, ZeroPad, ReflectionPad, ReplicationPad and
// CircularPad of any number of dimensions. Negative widths crop.
class Pad : public Module {
 public:
  explicit Pad(std::vector<std::int64_t> widths,
               PadMode mode = PadMode::kConstant, double value = 0.0)
      : widths_(std::move(widths)), mode_(mode), value_(value) {}
  //   InvalidArgument  a width exceeds its dimension
  Tensor forward(const Tensor& input) override;

 private:
  const std::vector<std::int64_t> widths_;
  const PadMode mode_;
  const double value_;
};

}  // namespace nn
}  // namespace hvd
