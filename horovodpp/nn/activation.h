// Activations as modules.
#pragma once

#include "horovodpp/autograd/ops.h"
#include "horovodpp/nn/module.h"

namespace hvd::nn {

// max(x, 0)
class ReLU : public Module {
 public:
  Tensor forward(const Tensor& input) override { return relu(input); }
};

}  // namespace hvd::nn
