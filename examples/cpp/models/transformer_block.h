// SPDX-License-Identifier: Apache-2.0
// A TransformerBlock adds attention to what it is given, and then what a small
// perceptron makes of that: two stages of a chain, each of which can keep less for
// backward (chain_model.h).
#pragma once

#include <horovodpp/checkpoint.h>
#include <horovodpp/nn/nn.h>

#include <vector>

namespace models {

class TransformerBlock : public hvd::nn::Module {
 public:
  hvd::Tensor forward(const hvd::Tensor& x) final;

  // Its two halves. What each can compute again in backward for little: norms,
  // shifts and the GELU, and then attention too, its products left out.
  std::vector<hvd::ChainStage> stages();

 protected:
  enum class Lean { kNot, kNorms, kAttention };

 private:
  virtual hvd::Tensor add_attention(const hvd::Tensor& x, Lean lean) = 0;
  virtual hvd::Tensor add_mlp(const hvd::Tensor& x, Lean lean) = 0;
};

}  // namespace models
