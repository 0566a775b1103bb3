// SPDX-License-Identifier: Apache-2.0
// A TransformerBlock adds attention to its input, and then the output of a
// small perceptron. These are two stages of a chain; each can keep less for
// backward (chain_model.h).
#pragma once

#include <horovodpp/checkpoint.h>
#include <horovodpp/nn.h>

#include <vector>

namespace models {

class TransformerBlock : public hvd::nn::Module {
 public:
  hvd::Tensor forward(const hvd::Tensor& x) final;

  // The block's two halves. Options recompute the cheap parts: norms, shifts
  // and the GELU, and then also attention without its products.
  std::vector<hvd::ChainStage> stages();

 protected:
  enum class Lean { kNot, kNorms, kAttention };

 private:
  virtual hvd::Tensor add_attention(const hvd::Tensor& x, Lean lean) = 0;
  virtual hvd::Tensor add_mlp(const hvd::Tensor& x, Lean lean) = 0;
};

}  // namespace models
