// SPDX-License-Identifier: Apache-2.0
// More activation functions as modules, with PyTorch's names and values.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/unary/activations.h"
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

Tensor tanhshrink(const Tensor& x);  // x - tanh(x)

}  // namespace activation

using SiLU = Activation<hvd::silu>;
using SELU = Activation<hvd::selu>;
using LogSigmoid = Activation<hvd::log_sigmoid>;
using Mish = Activation<hvd::mish>;
using Softsign = Activation<hvd::softsign>;
using Tanhshrink = Activation<activation::tanhshrink>;
using ReLU6 = Activation<hvd::relu6>;
using Hardsigmoid = Activation<hvd::hardsigmoid>;
using Hardswish = Activation<hvd::hardswish>;

// A module that applies a function with one number.
template <Tensor (*kFunction)(const Tensor&, double)>
class ActivationWithNumber : public Module {
 public:
  explicit ActivationWithNumber(double number) : number_(number) {}
  Tensor forward(const Tensor& input) override {
    return kFunction(input, number_);
  }

 private:
  const double number_;
};

// A module that applies a function with two numbers.
template <Tensor (*kFunction)(const Tensor&, double, double)>
class ActivationWithNumbers : public Module {
 public:
  ActivationWithNumbers(double first, double second)
      : first_(first), second_(second) {}
  Tensor forward(const Tensor& input) override {
    return kFunction(input, first_, second_);
  }

 private:
  const double first_;
  const double second_;
};

// Constructors with PyTorch's defaults; the functions are in
// ops/unary/activations.h.
struct LeakyReLU : ActivationWithNumber<hvd::leaky_relu> {
  explicit LeakyReLU(double slope = 0.01) : ActivationWithNumber(slope) {}
};
struct ELU : ActivationWithNumber<hvd::elu> {
  explicit ELU(double alpha = 1.0) : ActivationWithNumber(alpha) {}
};
struct CELU : ActivationWithNumber<hvd::celu> {
  explicit CELU(double alpha = 1.0) : ActivationWithNumber(alpha) {}
};
struct Hardshrink : ActivationWithNumber<hvd::hardshrink> {
  explicit Hardshrink(double lambda = 0.5) : ActivationWithNumber(lambda) {}
};
struct Softshrink : ActivationWithNumber<hvd::softshrink> {
  explicit Softshrink(double lambda = 0.5) : ActivationWithNumber(lambda) {}
};
struct Softplus : ActivationWithNumbers<hvd::softplus> {
  explicit Softplus(double beta = 1.0, double threshold = 20.0)
      : ActivationWithNumbers(beta, threshold) {}
};
struct Hardtanh : ActivationWithNumbers<hvd::hardtanh> {
  explicit Hardtanh(double low = -1.0, double high = 1.0)
      : ActivationWithNumbers(low, high) {}
};
struct Threshold : ActivationWithNumbers<hvd::threshold> {
  Threshold(double bound, double value) : ActivationWithNumbers(bound, value) {}
};

// Negative elements times a slope: random while training, else the mean.
class RReLU : public Module {
 public:
  explicit RReLU(double lower = 1.0 / 8.0, double upper = 1.0 / 3.0)
      : lower_(lower), upper_(upper) {}
  Tensor forward(const Tensor& input) override;

 private:
  const double lower_;
  const double upper_;
};

// e^-x / sum e^-x along a dimension.
class Softmin : public Module {
 public:
  explicit Softmin(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t dim_;
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
