// SPDX-License-Identifier: Apache-2.0
// Compares computed gradients with finite differences; tests backward formulas.
//
//   hvd::autograd::gradcheck(
//       [](const auto& x) { return std::vector{hvd::exp(x[0])}; },
//       {hvd::randn({3}, {.dtype = DType::kF64, .requires_grad = true})});
//
// The function must be deterministic, and smooth near its inputs. The inputs
// are changed during the check and restored.
#pragma once

#include <functional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

struct GradcheckOptions {
  double step = 1e-6;  // Of the central difference.
  // Allowed |analytical - numerical|: absolute_tolerance + relative_tolerance
  // |numerical|.
  double absolute_tolerance = 1e-5;
  double relative_tolerance = 1e-3;
};

using DifferentiableFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Checks d outputs / d inputs for every input that requires grad, and that two
// backward runs agree to the last bit.
//   AutogradError    a mismatch; names the element and both values
//   InvalidArgument  an input that requires grad is not a contiguous float64
//                    leaf, or no input requires grad
void gradcheck(const DifferentiableFunction& function,
               const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {});

// The same check for the second derivatives.
void gradgradcheck(const DifferentiableFunction& function,
                   const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {});

}  // namespace autograd
}  // namespace hvd
