// SPDX-License-Identifier: Apache-2.0
#include "models/language/char_lstm.h"

#include <memory>

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

CharLSTM::CharLSTM(const CharLSTMOptions& options) {
  const auto embedding = register_module(
      "embedding",
      std::make_shared<nn::Embedding>(options.vocabulary, options.width));
  const auto lstm = register_module(
      "lstm",
      std::make_shared<nn::LSTM>(
          options.width, options.hidden,
          nn::LSTMOptions{.num_layers = options.layers, .batch_first = true}));
  const auto head = register_module(
      "head", std::make_shared<nn::Linear>(options.hidden, options.vocabulary));
  add_stage(
      {[embedding](const Tensor& tokens) { return (*embedding)(tokens); }});
  add_block({{[lstm](const Tensor& x) { return (*lstm)(x); }}});
  add_stage({[head](const Tensor& x) { return (*head)(x); }});
}

}  // namespace models
