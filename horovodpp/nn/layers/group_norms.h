// SPDX-License-Identifier: Apache-2.0
// Normalizations of groups of channels, of single channels, and by the root
// mean square, as functions and modules with PyTorch's names.
//
//   hvd::nn::GroupNorm norm(8, 64);
//   hvd::Tensor y = norm(x);             // [n, 64, ...] -> the same
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/layers/norms.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/tensor/base/dims.h"

namespace HVD_EXPORT hvd {

// (x - mean) / sqrt(var + eps) * weight + bias, with the moments of each of
// `groups` groups of channels of each item:  x [n, c, ...], weight and bias [c]
// or undefined.
//   InvalidArgument  the groups do not divide the channels
Tensor group_norm(const Tensor& x, std::int64_t groups,
                  const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);

// x / sqrt(mean(x^2) + eps) * weight over the last dimensions, of
// `normalized_shape`, as has `weight`, which may be undefined.
Tensor rms_norm(const Tensor& x, const autograd::Dims& normalized_shape,
                const Tensor& weight = Tensor(), double eps = 1e-5);

namespace nn {

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;  // Whether to scale and shift.
  DType dtype = DType::kF32;
};

class GroupNorm : public Module {
 public:
  // "weight" (1) and "bias" (0), [channels].
  //   InvalidArgument  a size is not positive, or the groups do not divide the
  //                    channels
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels,
            const GroupNormOptions& options = {});

  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t groups_;
  const double eps_;
  Tensor weight_;
  Tensor bias_;
};

struct InstanceNormOptions {
  double eps = 1e-5;
  bool affine = false;
  DType dtype = DType::kF32;
};

// Normalizes each channel of each item [n, c, ...]: PyTorch's InstanceNorm1d to
// 3d without running statistics.
class InstanceNorm : public Module {
 public:
  // With affine: "weight" (1) and "bias" (0), [features].
  //   InvalidArgument  num_features is not positive
  explicit InstanceNorm(std::int64_t num_features,
                        const InstanceNormOptions& options = {});

  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t features_;
  const double eps_;
  Tensor weight_;
  Tensor bias_;
};

using InstanceNorm1d = InstanceNorm;
using InstanceNorm2d = InstanceNorm;
using InstanceNorm3d = InstanceNorm;

struct RMSNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // Whether to scale.
  DType dtype = DType::kF32;
};

class RMSNorm : public Module {
 public:
  // "weight" (1), of the normalized shape.
  //   InvalidArgument  the shape is empty, or a size is not positive
  explicit RMSNorm(const autograd::Dims& normalized_shape,
                   const RMSNormOptions& options = {});

  Tensor forward(const Tensor& input) override;

 private:
  const autograd::Dims shape_;
  const double eps_;
  Tensor weight_;
};

// BatchNorm2d for [n, c] and [n, c, length], and for [n, c, depth, h, w].
class BatchNorm1d : public BatchNorm2d {
 public:
  using BatchNorm2d::BatchNorm2d;
  Tensor forward(const Tensor& input) override;
};
class BatchNorm3d : public BatchNorm2d {
 public:
  using BatchNorm2d::BatchNorm2d;
  Tensor forward(const Tensor& input) override;
};

}  // namespace nn
}  // namespace hvd
