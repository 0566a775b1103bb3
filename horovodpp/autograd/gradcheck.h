// SPDX-License-Identifier: Apache-2.0
// Compares the gradients that the graph computes with differences of values:
// the test of every backward formula.
//
//   hvd::autograd::gradcheck(
//       [](const auto& x) { return std::vector{hvd::exp(x[0])}; },
//       {hvd::randn({3}, {.dtype = DType::kF64, .requires_grad = true})});
//
// The function must be deterministic and smooth where it is evaluated. Its
// inputs are changed during the check and restored.
#pragma once

#include <functional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

struct GradcheckOptions {
  double step = 1e-6;                // Of the central difference.
  double absolute_tolerance = 1e-5;  // |a - n| may be absolute_tolerance
  double relative_tolerance = 1e-3;  // + relative_tolerance |n|.
};

using DifferentiableFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Checks d outputs / d inputs for every input that requires grad, and that two
// backward runs agree to the last bit.
//   AutogradError    they differ: which element, and both values
//   InvalidArgument  such an input is not a contiguous float64 leaf, or there
//                    is none
void gradcheck(const DifferentiableFunction& function,
               const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {});

// The same for the gradients themselves, that is for the second derivatives.
void gradgradcheck(const DifferentiableFunction& function,
                   const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {});

}  // namespace autograd
}  // namespace hvd
