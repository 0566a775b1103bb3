// SPDX-License-Identifier: Apache-2.0
#include "models/transformer_block.h"

namespace models {

using hvd::Tensor;

Tensor TransformerBlock::forward(const Tensor& x) {
  return add_mlp(add_attention(x, Lean::kNot), Lean::kNot);
}

std::vector<hvd::ChainStage> TransformerBlock::stages() {
  const auto attention = [this](Lean lean) {
    return [this, lean](const Tensor& x) { return add_attention(x, lean); };
  };
  const auto mlp = [this](Lean lean) {
    return [this, lean](const Tensor& x) { return add_mlp(x, lean); };
  };
  return {{attention(Lean::kNot),
           {attention(Lean::kNorms), attention(Lean::kAttention)}},
          {mlp(Lean::kNot), {mlp(Lean::kNorms)}}};
}

}  // namespace models
