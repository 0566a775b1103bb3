// SPDX-License-Identifier: Apache-2.0
// BatchNorm2d: every channel of images [n, c, h, w] brought to mean 0 and
// variance 1, then scaled and shifted.
//
//   hvd::nn::BatchNorm2d norm(64);
//   hvd::Tensor y = norm(x);             // Training: by the moments of x,
//   norm.eval();                         // which it keeps a running mean of;
//   y = norm(x);                         // else by these.
//
// While training it must not be called by several threads.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct BatchNorm2dOptions {
  double eps = 1e-5;
  // By how much the running moments move; nullopt: they are the means of all.
  std::optional<double> momentum = 0.1;
  bool affine = true;               // Whether to scale and shift.
  bool track_running_stats = true;  // Else x's own moments in evaluation, too.
  DType dtype = DType::kF32;
};

class BatchNorm2d : public Module {
 public:
  // Parameters "weight" (1) and "bias" (0), both [features]; buffers
  // "running_mean" (0), "running_var" (1) and int64 "num_batches_tracked".
  //   InvalidArgument  there are no features
  explicit BatchNorm2d(std::int64_t num_features,
                       const BatchNorm2dOptions& options = {});

  //   InvalidArgument  it is no [n, features, h, w], or, training, has one
  //                    element per channel
  Tensor forward(const Tensor& input) override;

  const Tensor& weight() const { return weight_; }  // Undefined: not affine.
  const Tensor& bias() const { return bias_; }
  const Tensor& running_mean() const { return running_mean_; }
  const Tensor& running_var() const { return running_var_; }

 protected:
  const BatchNorm2dOptions& options() const { return options_; }
  // One more has come; by how much the running moments move with it.
  double count_batch();

 private:
  const BatchNorm2dOptions options_;
  Tensor weight_;
  Tensor bias_;
  Tensor running_mean_;  // Undefined, as the next two: not tracked.
  Tensor running_var_;
  Tensor num_batches_tracked_;
};

}  // namespace nn
}  // namespace hvd
