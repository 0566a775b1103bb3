// SPDX-License-Identifier: Apache-2.0
// CharLSTM: a recurrent network that predicts the next byte.
//
//   models::CharLSTM model({.hidden = 256});
//   hvd::Tensor logits = model(tokens);  // int64 [n, t] -> [n, t, 256]
#pragma once

#include <horovodpp/nn/nn.h>

#include <cstdint>
#include <memory>

namespace models {

struct CharLSTMOptions {
  std::int64_t width = 64;  // Of the embedding.
  std::int64_t hidden = 256;
  std::int64_t layers = 1;
  std::int64_t vocabulary = 256;
};

class CharLSTM : public hvd::nn::Module {
 public:
  explicit CharLSTM(const CharLSTMOptions& options = {});

  // int64 [n, t] -> [n, t, vocabulary]
  hvd::Tensor forward(const hvd::Tensor& tokens) override;

 private:
  std::shared_ptr<hvd::nn::Embedding> embedding_;
  std::shared_ptr<hvd::nn::LSTM> lstm_;
  std::shared_ptr<hvd::nn::Linear> head_;
};

}  // namespace models
