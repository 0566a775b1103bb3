// SPDX-License-Identifier: Apache-2.0
// Linear: y = x W^T + b, the fully connected layer.
//
//   hvd::nn::Linear fc(784, 10);
//   hvd::Tensor logits = fc(images);        // [n, 784] -> [n, 10]
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::kF32;
};

class Linear : public Module {
 public:
  // "weight" [out, in] and "bias" [out], both uniform in ±1/sqrt(in), from this
  // thread's generator (He et al. 2015, with a = sqrt 5, as in PyTorch).
  //   InvalidArgument  a size is not positive
  Linear(std::int64_t in_features, std::int64_t out_features,
         const LinearOptions& options = {});

  Tensor forward(const Tensor& input) override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // Undefined without bias.

 private:
  Tensor weight_;
  Tensor bias_;
};

}  // namespace nn
}  // namespace hvd
