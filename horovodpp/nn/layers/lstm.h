// SPDX-License-Identifier: Apache-2.0
// LSTM: stacked layers of long short-term memory.
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
  // [batch, time, features] instead of [time, batch, …].
  bool batch_first = false;
  double dropout = 0.0;  // Between layers, in training.
  // Each layer also runs from the last step to the first, with separate
  // weights. Its output concatenates the h of both directions.
  bool bidirectional = false;
  DType dtype = DType::kF32;
};

class LSTM : public Module {
 public:
  struct Result {
    Tensor output;  // h of the last layer at every step.
    // The state of all layers and directions after the last step.
    LstmState state;
  };

  // Per layer and direction: "weight_ih_l0" [4 hidden, in], "weight_hh_l0" [4
  // hidden, hidden], and "bias_ih_l0", "bias_hh_l0" [4 hidden]. The second
  // direction has the suffix "_reverse". Later layers take the h of the layer
  // before. All are uniform in ±1/sqrt(hidden); the gates are i, f, g and o.
  //   InvalidArgument  a size is not positive, or dropout is not in [0, 1]
  LSTM(std::int64_t input_size, std::int64_t hidden_size,
       const LSTMOptions& options = {});

  // The output from a zero state.
  Tensor forward(const Tensor& input) override { return run(input).output; }

  // Both tensors of `start` are [layers directions, batch, hidden]; undefined:
  // zeros.
  //   InvalidArgument  shapes do not fit
  Result run(const Tensor& input, const LstmState& start = {});

 private:
  void add_direction(const std::string& name, std::int64_t inputs);
  LstmState checked_start(const Tensor& steps, const LstmState& start) const;

  const std::int64_t hidden_size_;
  const LSTMOptions options_;
  const std::int64_t directions_;
  // Both directions of each layer, layer by layer.
  std::vector<LstmWeights> weights_;
};

}  // namespace nn
}  // namespace hvd
