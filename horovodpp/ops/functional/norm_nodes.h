// SPDX-License-Identifier: Apache-2.0
// The nodes of batch_norm and layer_norm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/kernel/norms/plane_loops.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The base of the nodes of batch_norm and layer_norm: y = (x - mean) rstd
// weight + bias, where weight and bias may be missing.

struct NormNode : Node {
  void release_saved() override;

  SavedTensor input;
  SavedTensor weight;
  SavedTensor mean;
  SavedTensor rstd;
  DType dtypes[2] = {DType::kF32, DType::kF32};  // Of weight and bias.
  double eps = 0.0;
};

struct NormOperands {
  const Tensor& x;
  const Tensor& weight;
  const Tensor& bias;
};

bool needs_grad(const NormOperands& operands);

// Gives the new `node` its three edges and its saved tensors.
void save_norm(NormNode& node, const NormOperands& operands, const Tensor& mean,
               const Tensor& rstd);

// The operands and the graph node of batch_norm.

// x [n, c, ...] for the loops over channels, not recorded: x itself if it is
// row-major, else with the channels last.
Tensor for_channel_loops(const Tensor& x);
// `x` in a layout of for_channel_loops().
ChannelSize channel_size(const Tensor& x);

// `parameter` in this dtype; if undefined, [channels] filled with `otherwise`.
Tensor parameter_in(DType dtype, const Tensor& parameter, std::int64_t channels,
                    double otherwise);

// The mean and 1 / sqrt(variance + eps) of each channel, in the dtype of the
// computation.
struct ChannelStatistics {
  Tensor mean;
  Tensor rstd;
};

// z = (x - mean) rstd, y = z w + b. Sums run over all but the channels, with
// `count` elements each:
//   training: dx = w rstd (dy - sum dy / count - z sum dy z / count)
//   else:     dx = w rstd dy
//   dw = sum dy z,  db = sum dy
struct BatchNormBackward : NormNode {
  const char* name() const override { return "BatchNormBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override;

  bool training = false;

 private:
  // One pass for the sums, one for dx.
  template <typename T>
  void apply_fused(const ChannelStatistics& s, const Tensor& grad,
                   std::span<Tensor> results);
  template <typename T>
  void parameter_gradients(const std::vector<double>& sum,
                           std::vector<double> dot, const T* r,
                           std::span<Tensor> results);
  // The same with recorded operations.
  void apply_recorded(const ChannelStatistics& s, const Tensor& grad,
                      std::span<Tensor> results);
};

}  // namespace hvd::autograd
