// SPDX-License-Identifier: Apache-2.0
// The parts of batch_norm: how it sees its operands, and the node of its graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/kernel/norm_loops.h"
#include "horovodpp/ops/functional/norm_node.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// x [n, c, ...] as a matrix with a column for each channel: x itself or a copy,
// not recorded.
Tensor as_channel_matrix(const Tensor& x);
MatrixSize channel_matrix_size(const Tensor& x);

// `parameter` in this dtype; if there is none, [channels] of `otherwise`.
Tensor parameter_in(DType dtype, const Tensor& parameter, std::int64_t channels,
                    double otherwise);

// Of each channel the mean and 1 / sqrt(variance + eps), in the dtype that is
// computed in.
struct ChannelStatistics {
  Tensor mean;
  Tensor rstd;
};

// z = (x - mean) rstd, y = z w + b, sums over all but the channels, of which
// each is `count` elements:
//   training: dx = w rstd (dy - sum dy / count - z sum dy z / count)
//   else:     dx = w rstd dy
//   dw = sum dy z,  db = sum dy
struct BatchNormBackward : NormNode {
  const char* name() const override { return "BatchNormBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override;

  bool training = false;

 private:
  // In one pass each for sums and for dx.
  template <typename T>
  void apply_fused(const ChannelStatistics& s, const Tensor& grad,
                   std::span<Tensor> results);
  template <typename T>
  void parameter_gradients(const std::vector<double>& sum,
                           std::vector<double> dot, const T* r,
                           std::span<Tensor> results);
  // The same by operations that are recorded.
  void apply_recorded(const ChannelStatistics& s, const Tensor& grad,
                      std::span<Tensor> results);
};

}  // namespace hvd::autograd
