// SPDX-License-Identifier: Apache-2.0
// More activation functions as modules, with PyTorch's names and values.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/unary_ops.h"

namespace HVD_EXPORT hvd {
namespace nn {

// A module that applies a function to its input.
template <Tensor (*kFunction)(const Tensor&)>
class Activation : public Module {
 public:
  Tensor forward(const Tensor& input) override { return kFunction(input); }
};

namespace activation {

Tensor log_sigmoid(const Tensor& x);  // ln sigmoid(x)
Tensor softplus(const Tensor& x);     // ln(1 + e^x)
Tensor mish(const Tensor& x);         // x tanh(softplus(x))
Tensor softsign(const Tensor& x);     // x / (1 + |x|)
Tensor tanhshrink(const Tensor& x);   // x - tanh(x)
Tensor relu6(const Tensor& x);        // min(max(x, 0), 6)
Tensor hardtanh(const Tensor& x);     // min(max(x, -1), 1)
Tensor hardsigmoid(const Tensor& x);  // relu6(x + 3) / 6
Tensor hardswish(const Tensor& x);    // x relu6(x + 3) / 6

}  // namespace activation

using SiLU = Activation<hvd::silu>;
using LogSigmoid = Activation<activation::log_sigmoid>;
using Softplus = Activation<activation::softplus>;
using Mish = Activation<activation::mish>;
using Softsign = Activation<activation::softsign>;
using Tanhshrink = Activation<activation::tanhshrink>;
using ReLU6 = Activation<activation::relu6>;
using Hardtanh = Activation<activation::hardtanh>;
using Hardsigmoid = Activation<activation::hardsigmoid>;
using Hardswish = Activation<activation::hardswish>;

// x where x > 0, else slope x.
class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double slope = 1e-2) : slope_(slope) {}
  Tensor forward(const Tensor& input) override;

 private:
  const double slope_;
};

// x where x > 0, else alpha (e^x - 1).
class ELU : public Module {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& input) override;

 private:
  const double alpha_;
};

// x where x > 0, else "weight" x, with one weight or one for each channel.
class PReLU : public Module {
 public:
  //   InvalidArgument  num_parameters is not positive
  explicit PReLU(std::int64_t num_parameters = 1, double start = 0.25);
  Tensor forward(const Tensor& input) override;

 private:
  Tensor weight_;
};

// a sigmoid(b), for the halves a and b of a dimension.
class GLU : public Module {
 public:
  explicit GLU(std::int64_t dim = -1) : dim_(dim) {}
  //   InvalidArgument  the dimension is odd
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t dim_;
};

}  // namespace nn
}  // namespace hvd
