// SPDX-License-Identifier: Apache-2.0
// Activation functions as modules; ops.h has the formulas.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/math_ops.h"
#include "horovodpp/ops/softmax_ops.h"
#include "horovodpp/ops/unary_ops.h"

namespace HVD_EXPORT hvd {
namespace nn {

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

}  // namespace nn
}  // namespace hvd
