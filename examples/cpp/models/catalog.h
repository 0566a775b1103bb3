// SPDX-License-Identifier: Apache-2.0
// The example models by name, in the sizes that the training programs use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/chain_model.h"

namespace models {

// Models for float [n, 1, 28, 28] -> [n, 10]: "mlp", "lenet", "resnet18",
// "resnet50", "densenet", "swin", "vit" or "gru"; and "unet", for [n, 2, 28,
// 28] -> [n, 1, 28, 28]. `width` is the number of channels of a ResNet's stem
// or a U-Net's largest scale, the growth of a DenseNet, the width of a Swin's
// first stage or of a ViT, or the size of a GRU's state. A Swin's and a ViT's
// is a multiple of 16, the width of a head, a U-Net's of 8. 0: the default.
// The other models have no width.
//   InvalidArgument  no such model, or not of that width
std::shared_ptr<ChainModel> make_image_model(const std::string& name,
                                             std::int64_t width = 0);

struct TextModelOptions {
  std::int64_t width = 0;         // Of an LSTM: of its state. 0: the default.
  std::int64_t layers = 0;        // 0: the default.
  std::int64_t context = 128;     // Bytes that a GPT or BERT sees.
  double dropout = 0.0;           // Of a GPT or BERT.
  std::int64_t key_heads = 0;     // Of a Llama; 0: half of its heads, if even.
  std::int64_t window = 0;        // Of a Llama's attention; 0: none.
  std::int64_t vocabulary = 256;  // Of a BERT always 257.
};
// Models for int64 [n, t] -> [n, t, vocabulary]: "gpt", "llama", "lstm", and
// "llama-15m", a Llama of 15 million parameters; and "bert", for tokens up to
// 256, the mask: [n, t] -> [n, t, 257]. Heads are 32 wide, of "llama-15m" 64.
//   InvalidArgument  no such model, or not of that width
std::shared_ptr<ChainModel> make_text_model(
    const std::string& name, const TextModelOptions& options = {});

}  // namespace models
