// SPDX-License-Identifier: Apache-2.0
// LSTM: layers of long short-term memory, one on top of the other.
//
//   hvd::nn::LSTM lstm(64, 256, {.num_layers = 2, .batch_first = true});
//   hvd::Tensor y = lstm(x);                    // [n, t, 64] -> [n, t, 256]
//   auto [output, state] = lstm.run(x);         // from zeros,
//   output = lstm.run(next, state).output;      // and on from there
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/functional/lstm.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct LSTMOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;  // [batch, time, features], not [time, batch, …].
  double dropout = 0.0;      // Between layers, while training.
  // Every layer also goes from the last step to the first, with weights of its
  // own, and hands on both directions' h, one after the other.
  bool bidirectional = false;
  DType dtype = DType::kF32;
};

class LSTM : public Module {
 public:
  struct Result {
    Tensor output;    // h of the last layer at every step.
    LstmState state;  // Of all layers and directions after their last step.
  };

  // "weight_ih_l0" [4 hidden, in], "weight_hh_l0" [4 hidden, hidden],
  // "bias_ih_l0", "bias_hh_l0" [4 hidden], "…_l0_reverse" if there are two
  // directions, and so on for every layer, from the h of the one before; uniform
  // in ±1/sqrt(hidden). The gates are i, f, g and o.
  //   InvalidArgument  a size is not positive, or dropout not in [0, 1]
  LSTM(std::int64_t input_size, std::int64_t hidden_size,
       const LSTMOptions& options = {});

  // The output, beginning with zeros.
  Tensor forward(const Tensor& input) override { return run(input).output; }

  // Both of `start` are [layers directions, batch, hidden], or undefined: zeros.
  //   InvalidArgument  shapes do not fit
  Result run(const Tensor& input, const LstmState& start = {});

 private:
  void add_direction(const std::string& name, std::int64_t inputs);
  LstmState checked_start(const Tensor& steps, const LstmState& start) const;

  const std::int64_t hidden_size_;
  const LSTMOptions options_;
  const std::int64_t directions_;
  std::vector<LstmWeights> weights_;  // Of both directions, layer by layer.
};

}  // namespace nn
}  // namespace hvd
