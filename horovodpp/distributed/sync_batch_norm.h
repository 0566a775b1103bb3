// SPDX-License-Identifier: Apache-2.0
// SyncBatchNorm is a BatchNorm2d with the moments of all ranks' batches
// together, so that training does not depend on how a batch is split.
//
//   hvd::nn::SyncBatchNorm norm(64);
//   hvd::Tensor y = norm(x);      // [n, 64, ...]; n differs from rank to rank
//
// Values and gradients equal the values and gradients of one process over all
// images, if the loss is the mean of the ranks' losses. In training, forward
// sends two small tensors and backward two, in the order of calls of every
// rank; a recomputation sends nothing. A rank may have no images. Evaluation
// sends nothing.
//
// Parameters, buffers and state are a BatchNorm2d's.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/layers/norms.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
namespace nn {

class SyncBatchNorm : public BatchNorm2d {
 public:
  // Uses the moments over the ranks of `process_set`.
  explicit SyncBatchNorm(std::int64_t num_features,
                         const BatchNorm2dOptions& options = {},
                         ProcessSet process_set = ProcessSet::global());

  //   InvalidArgument  the input is not [n, features, ...]; or, on all ranks,
  //                    training with one element per channel
  //   hvd::Error       there is no job, or a collective failed
  Tensor forward(const Tensor& input) override;

 private:
  Tensor normalize(const Tensor& x);
  void move_running(const Tensor& mean, const Tensor& variance, double count);

  const ProcessSet process_set_;
};

}  // namespace nn
}  // namespace hvd
