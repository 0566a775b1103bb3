// SPDX-License-Identifier: Apache-2.0
// Modules without parameters: activations, dropout and flattening.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Activation functions as modules; ops.h has the formulas.

// max(x, 0)
class ReLU : public Module {
 public:
  Tensor forward(const Tensor& input) override { return relu(input); }
};

class GELU : public Module {
 public:
  explicit GELU(GeluForm form = GeluForm::kExact) : form_(form) {}
  Tensor forward(const Tensor& input) override { return gelu(input, form_); }

 private:
  const GeluForm form_;
};

class Tanh : public Module {
 public:
  Tensor forward(const Tensor& input) override { return tanh(input); }
};

class Sigmoid : public Module {
 public:
  Tensor forward(const Tensor& input) override { return sigmoid(input); }
};

// Along a dimension.
class Softmax : public Module {
 public:
  explicit Softmax(std::int64_t dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& input) override { return softmax(input, dim_); }

 private:
  const std::int64_t dim_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(std::int64_t dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& input) override {
    return log_softmax(input, dim_);
  }

 private:
  const std::int64_t dim_;
};

// Dropout: in training, sets each element to 0 with probability p and scales
// the others by 1 / (1 - p). In evaluation, the identity.

class Dropout : public Module {
 public:
  //   InvalidArgument  p is not in [0, 1]
  explicit Dropout(double p = 0.5);

  Tensor forward(const Tensor& input) override;

 private:
  const double p_;
};

// Flatten: merges dimensions start_dim to end_dim; by default all but the
// first.

class Flatten : public Module {
 public:
  explicit Flatten(std::int64_t start_dim = 1, std::int64_t end_dim = -1)
      : start_dim_(start_dim), end_dim_(end_dim) {}

  //   InvalidArgument  a dimension is out of range, or end_dim precedes
  //                    start_dim
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t start_dim_;
  const std::int64_t end_dim_;
};

}  // namespace nn
}  // namespace hvd
