// SPDX-License-Identifier: Apache-2.0
// CharLSTM is a recurrent network that predicts the next byte.
//
//   models::CharLSTM model({.hidden = 256});
//   hvd::Tensor logits = model(tokens);  // int64 [n, t] -> [n, t, 256]
#pragma once

#include <cstdint>

#include "models/chain_model.h"

namespace models {

struct CharLSTMOptions {
  std::int64_t width = 64;  // Of the embedding.
  std::int64_t hidden = 256;
  std::int64_t layers = 1;
  std::int64_t vocabulary = 256;
};

// int64 [n, t] -> [n, t, vocabulary]
class CharLSTM : public ChainModel {
 public:
  explicit CharLSTM(const CharLSTMOptions& options = {});
};

}  // namespace models
