// SPDX-License-Identifier: Apache-2.0
// Pooling of images [n, c, h, w] as modules; ops/images/max_pool.h and
// average_pool.h have the formulas.
//
//   hvd::nn::MaxPool2d pool({.kernel = 2});
//   hvd::Tensor y = pool(x);             // [n, c, 28, 28] -> [n, c, 14, 14]
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/images/average_pool.h"
#include "horovodpp/ops/images/max_pool.h"

namespace HVD_EXPORT hvd {
namespace nn {

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const MaxPool2dOptions& options) : options_(options) {}
  Tensor forward(const Tensor& input) override {
    return max_pool2d(input, options_);
  }

 private:
  const MaxPool2dOptions options_;
};

class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(const AvgPool2dOptions& options) : options_(options) {}
  Tensor forward(const Tensor& input) override {
    return avg_pool2d(input, options_);
  }

 private:
  const AvgPool2dOptions options_;
};

class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(Pair size) : size_(size) {}
  Tensor forward(const Tensor& input) override {
    return adaptive_avg_pool2d(input, size_);
  }

 private:
  const Pair size_;
};

}  // namespace nn
}  // namespace hvd
