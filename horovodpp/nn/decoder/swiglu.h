// SPDX-License-Identifier: Apache-2.0
// SwiGLU is the gated feed-forward layer of Llama (Shazeer, "GLU variants
// improve transformer", 2020): down(silu(gate(x)) * up(x)).
//
//   hvd::nn::SwiGLU mlp(288, 768);
//   hvd::Tensor y = mlp(x);              // [..., 288] -> the same
#pragma once

#include <cstdint>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct SwiGLUOptions {
  bool bias = false;
  DType dtype = DType::kF32;
};

class SwiGLU : public Module {
 public:
  // "gate_proj", "up_proj" and "down_proj", as of Hugging Face's LlamaMLP.
  //   InvalidArgument  a size is not positive
  SwiGLU(std::int64_t width, std::int64_t hidden,
         const SwiGLUOptions& options = {});

  Tensor forward(const Tensor& input) override;

  // The two halves of forward, which is finish(gate(x), up(x)), for callers
  // that recompute one of them in backward.
  Tensor gate(const Tensor& input) const { return (*gate_)(input); }
  Tensor up(const Tensor& input) const { return (*up_)(input); }
  Tensor finish(const Tensor& gate, const Tensor& up) const;

 private:
  std::shared_ptr<Linear> gate_;
  std::shared_ptr<Linear> up_;
  std::shared_ptr<Linear> down_;
};

}  // namespace nn
}  // namespace hvd
