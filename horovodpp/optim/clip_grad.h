// SPDX-License-Identifier: Apache-2.0
// Limits gradients between backward and step:
//
//   loss.backward();
//   hvd::optim::clip_grad_norm_(model.parameters(), 1.0);
//   optimizer.step();
//
// Under a DistributedOptimizer these functions limit the reduced gradients: see
// its example. Gradients change in place. Parameters without a gradient are
// ignored.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct ClipOptions {
  double norm_type = 2.0;  // p of the p-norm; infinity: the largest element.
  bool error_if_nonfinite = false;
};

// Multiplies all gradients by min(1, max_norm / (norm + 1e-6)) and returns
// `norm`: the norm of all gradients as one vector. The norm is computed in
// double, in the order of `parameters`, so that all ranks get the same bits.
//   InvalidArgument  max_norm or norm_type makes no sense
//   hvd::Error (OutOfRange)  the norm is not finite, if that is to be an error;
//                            gradients are unchanged
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       const ClipOptions& options = {});

// Clamps every element to [-bound, bound]; NaN stays.
//   InvalidArgument  the bound is negative
void clip_grad_value_(const std::vector<Tensor>& parameters, double bound);

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::clip_grad_norm_;
using optim::clip_grad_value_;
}  // namespace hvd
