// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/swiglu.h"

#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/unary_ops.h"

namespace hvd::nn {

SwiGLU::SwiGLU(std::int64_t width, std::int64_t hidden,
               const SwiGLUOptions& options) {
  const LinearOptions linear{.bias = options.bias, .dtype = options.dtype};
  gate_ = register_module("gate_proj",
                          std::make_shared<Linear>(width, hidden, linear));
  up_ = register_module("up_proj",
                        std::make_shared<Linear>(width, hidden, linear));
  down_ = register_module("down_proj",
                          std::make_shared<Linear>(hidden, width, linear));
}

Tensor SwiGLU::finish(const Tensor& gate, const Tensor& up) const {
  return (*down_)(silu(gate) * up);
}

Tensor SwiGLU::forward(const Tensor& input) {
  return finish(gate(input), up(input));
}

}  // namespace hvd::nn
