// SPDX-License-Identifier: Apache-2.0
// Modules that resize, pad or rearrange images, with PyTorch's names and values.
// They are compositions of the operations of ops.
//
//   hvd::nn::Upsample up({.scale = 2, .bilinear = true});
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/images/images.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct UpsampleOptions {
  Pair size = 0;   // Of the result; 0: by the scale.
  Pair scale = 1;  // A whole factor.
  // Interpolates between four pixels; otherwise takes the nearest.
  bool bilinear = false;
  // Whether corner pixels keep their place, for bilinear.
  bool align_corners = false;
};

// [n, c, h, w] -> [n, c, height, width]
class Upsample : public Module {
 public:
  explicit Upsample(const UpsampleOptions& options) : options_(options) {}
  //   InvalidArgument  the input is no batch of images, or has no pixels, or is
  //                    of integers and bilinear
  Tensor forward(const Tensor& input) override;

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
