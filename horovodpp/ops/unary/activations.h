// SPDX-License-Identifier: Apache-2.0
// Activation functions of each element, in one pass forward and one backward.
// Of floating-point tensors.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// x where x > 0, else alpha (e^x - 1).
Tensor elu(const Tensor& x, double alpha = 1.0);
// x where x > 0, else alpha (e^(x / alpha) - 1).
Tensor celu(const Tensor& x, double alpha = 1.0);
// elu with constants that keep mean 0 and variance 1 (Klambauer et al.,
// "Self-normalizing neural networks", 2017).
Tensor selu(const Tensor& x);
// ln(1 + e^(beta x)) / beta; x where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);
Tensor log_sigmoid(const Tensor& x);  // ln sigmoid(x)
Tensor mish(const Tensor& x);         // x tanh(softplus(x))
Tensor softsign(const Tensor& x);     // x / (1 + |x|)

// The derivatives at the bounds are those of PyTorch: 0, except where a line
// says otherwise.
Tensor hardtanh(const Tensor& x, double low = -1.0, double high = 1.0);
Tensor relu6(const Tensor& x);        // hardtanh from 0 to 6
Tensor hardsigmoid(const Tensor& x);  // relu6(x + 3) / 6
Tensor hardswish(const Tensor& x);    // x relu6(x + 3) / 6; slope 1 at 3
Tensor hardshrink(const Tensor& x,
                  double lambda = 0.5);  // x where |x| > lambda
Tensor softshrink(const Tensor& x, double lambda = 0.5);  // Toward 0 by lambda.
// x where x > bound, else value.
Tensor threshold(const Tensor& x, double bound, double value);

// a sigmoid(b), for the halves a and b of a dimension.
//   InvalidArgument  the dimension is odd
Tensor glu(const Tensor& x, std::int64_t dim = -1);
// x where x >= 0, else x times a slope: random between `lower` and `upper` in
// training, else the mean of both.
struct RreluOptions {
  double lower = 1.0 / 8.0;
  double upper = 1.0 / 3.0;
  bool training = false;
};
Tensor rrelu(const Tensor& x, const RreluOptions& options = {});

}  // namespace hvd
