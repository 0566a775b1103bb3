// SPDX-License-Identifier: Apache-2.0
#include "models/char_lstm.h"

namespace models {

namespace nn = hvd::nn;

CharLSTM::CharLSTM(const CharLSTMOptions& options)
    : embedding_(register_module(
          "embedding",
          std::make_shared<nn::Embedding>(options.vocabulary, options.width))),
      lstm_(register_module("lstm",
                            std::make_shared<nn::LSTM>(
                                options.width, options.hidden,
                                nn::LSTMOptions{.num_layers = options.layers,
                                                .batch_first = true}))),
      head_(register_module("head", std::make_shared<nn::Linear>(
                                        options.hidden, options.vocabulary))) {}

hvd::Tensor CharLSTM::forward(const hvd::Tensor& tokens) {
  return (*head_)((*lstm_)((*embedding_)(tokens)));
}

}  // namespace models
