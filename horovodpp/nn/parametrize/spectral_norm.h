// SPDX-License-Identifier: Apache-2.0
// Spectral normalization: a weight divided by its largest singular value, which
// bounds a layer's Lipschitz constant by 1 (Miyato et al. 2018). Discriminators
// of GANs use it.
//
//   hvd::nn::Linear fc(20, 40);
//   hvd::nn::spectral_norm(fc);
#pragma once

#include <cstdint>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct SpectralNormOptions {
  std::string name = "weight";
  std::int64_t power_iterations = 1;  // In each forward of a training.
  double eps = 1e-12;                 // The least length to divide by.
  // The weight as a matrix: rows are the indices of `dim`. PyTorch takes 1 for
  // transposed convolutions, and 0 for others.
  std::int64_t dim = 0;
};

// Parametrizes a weight of `module`: parametrization.h says which, and how to
// end it. The singular vectors start from random vectors and 15 iterations.
// Each forward of a training improves them; evaluation does not change them.
// Threads may not share a module that trains. Below "parametrizations.weight":
// the parameter "original", and the buffers "0._u" and "0._v".
//   InvalidArgument  there is no such weight or dimension, the weight has less
//                    than two dimensions, or power_iterations is not positive
void spectral_norm(Module& module, const SpectralNormOptions& options = {});

}  // namespace nn
}  // namespace hvd
