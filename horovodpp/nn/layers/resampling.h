// SPDX-License-Identifier: Apache-2.0
// Modules that resize, pad or rearrange images, and convolutions and pools of
// one dimension or in the transposed direction, with PyTorch's names and values.
// They are compositions of the operations of ops.
//
//   hvd::nn::Upsample up({.scale = 2, .bilinear = true});
//   hvd::nn::ConvTranspose2d conv(64, 32, 2, {.stride = 2});
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

struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::kF32;
};

// [n, in, length] -> [n, out, ...]
class Conv1d : public Module {
 public:
  // "weight" [out, in / groups, k] and "bias" [out], as in Conv2d.
  //   InvalidArgument  as of Conv2d
  Conv1d(std::int64_t in_channels, std::int64_t out_channels,
         std::int64_t kernel, const Conv1dOptions& options = {});
  Tensor forward(const Tensor& input) override;

 private:
  const hvd::Conv2dOptions options_;
  Tensor weight_;
  Tensor bias_;
};

struct ConvTranspose2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair output_padding = 0;  // Added to one side of the result.
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::kF32;
};

// The gradient of a convolution by its input: [n, in, h, w] -> [n, out, (h - 1)
// stride - 2 padding + dilation (kh - 1) + output_padding + 1, ...]
class ConvTranspose2d : public Module {
 public:
  // "weight" [in, out / groups, kh, kw] and "bias" [out], both uniform in
  // ±1/sqrt(out / groups kh kw).
  //   InvalidArgument  a size is not positive, or the groups do not divide the
  //                    channels
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels,
                  Pair kernel, const ConvTranspose2dOptions& options = {});
  //   InvalidArgument  the input is not [n, in, h, w]
  Tensor forward(const Tensor& input) override;

 private:
  const ConvTranspose2dOptions options_;
  Tensor weight_;
  Tensor bias_;
};

struct Pool1dOptions {
  std::int64_t kernel = 1;
  std::int64_t stride = 0;  // 0: the kernel's size.
  std::int64_t padding = 0;
};

// [n, c, length] -> [n, c, ...]
class MaxPool1d : public Module {
 public:
  explicit MaxPool1d(const Pool1dOptions& options) : options_(options) {}
  Tensor forward(const Tensor& input) override;

 private:
  const Pool1dOptions options_;
};

class AvgPool1d : public Module {
 public:
  explicit AvgPool1d(const Pool1dOptions& options) : options_(options) {}
  Tensor forward(const Tensor& input) override;

 private:
  const Pool1dOptions options_;
};

class AdaptiveAvgPool1d : public Module {
 public:
  explicit AdaptiveAvgPool1d(std::int64_t size) : size_(size) {}
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t size_;
};

}  // namespace nn
}  // namespace hvd
