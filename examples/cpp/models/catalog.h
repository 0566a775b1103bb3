// SPDX-License-Identifier: Apache-2.0
// The example models by name, in the sizes that the training programs use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/chain_model.h"

namespace models {

// Models for float [n, 1, 28, 28] -> [n, 10]: "mlp", "lenet", "resnet18",
// "resnet50", "densenet" or "swin". `width` is the number of channels of a
// ResNet's stem, the growth of a DenseNet, or the width of a Swin's first
// stage. A Swin's is a multiple of 16, the width of a head. 0: the default. The
// other models have no width.
//   InvalidArgument  no such model, or not of that width
std::shared_ptr<ChainModel> make_image_model(const std::string& name,
                                             std::int64_t width = 0);

struct TextModelOptions {
  std::int64_t width = 0;      // Of a GPT, or an LSTM's state; 0: default.
  std::int64_t layers = 0;     // 0: the default.
  std::int64_t context = 128;  // Bytes that a GPT sees.
  double dropout = 0.0;        // Of a GPT.
};
// Models for int64 [n, t] -> [n, t, 256]: "gpt", whose heads are 32 wide, or
// "lstm".
//   InvalidArgument  no such model, or not of that width
std::shared_ptr<ChainModel> make_text_model(
    const std::string& name, const TextModelOptions& options = {});

}  // namespace models
