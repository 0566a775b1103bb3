// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalization, as modules.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/tensor/base/dims.h"

namespace HVD_EXPORT hvd {
namespace nn {

// BatchNorm2d normalizes every channel of images [n, c, h, w] to mean 0 and
// variance 1, then scales and shifts it.
//
//   hvd::nn::BatchNorm2d norm(64);
//   hvd::Tensor y = norm(x);    // Training: uses the moments of x, and updates
//   norm.eval();                // their running averages.
//   y = norm(x);                // Evaluation: uses the running averages.
//
// Only one thread may call it in training.

struct BatchNorm2dOptions {
  double eps = 1e-5;
  // Weight of the new moments in the running ones; nullopt: cumulative
  // averages.
  std::optional<double> momentum = 0.1;
  bool affine = true;  // Whether to scale and shift.
  // If false, evaluation uses the moments of x as well.
  bool track_running_stats = true;
  DType dtype = DType::kF32;
};

class BatchNorm2d : public Module {
 public:
  // Parameters "weight" (1) and "bias" (0), both [features]; buffers
  // "running_mean" (0), "running_var" (1) and int64 "num_batches_tracked".
  //   InvalidArgument  num_features is not positive
  explicit BatchNorm2d(std::int64_t num_features,
                       const BatchNorm2dOptions& options = {});

  //   InvalidArgument  the input is not [n, features, h, w], or has only one
  //                    element per channel in training
  Tensor forward(const Tensor& input) override;

  const Tensor& weight() const { return weight_; }  // Undefined unless affine.
  const Tensor& bias() const { return bias_; }
  const Tensor& running_mean() const { return running_mean_; }
  const Tensor& running_var() const { return running_var_; }

 protected:
  const BatchNorm2dOptions& options() const { return options_; }
  // Counts a batch; returns the momentum to use for it.
  double count_batch();

 private:
  const BatchNorm2dOptions options_;
  Tensor weight_;
  Tensor bias_;
  // These three are undefined without track_running_stats.
  Tensor running_mean_;
  Tensor running_var_;
  Tensor num_batches_tracked_;
};

// LayerNorm normalizes the last dimensions of each item to mean 0 and variance
// 1, then scales and shifts them.
//
//   hvd::nn::LayerNorm norm({128});
//   hvd::Tensor y = norm(x);             // [n, t, 128] -> the same

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // Whether to scale and shift.
  bool bias = true;                // Whether to shift.
  DType dtype = DType::kF32;
};

class LayerNorm : public Module {
 public:
  // "weight" (1) and "bias" (0), of the normalized shape.
  //   InvalidArgument  the shape is empty, or a size is not positive
  explicit LayerNorm(const autograd::Dims& normalized_shape,
                     const LayerNormOptions& options = {});

  Tensor forward(const Tensor& input) override;

  const Tensor& weight() const { return weight_; }  // Undefined if absent.
  const Tensor& bias() const { return bias_; }

 private:
  const autograd::Dims shape_;
  const double eps_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace nn
}  // namespace hvd
