// SPDX-License-Identifier: Apache-2.0
// GRU and RNN: stacked layers of gated and of plain recurrent units, also in
// both directions, with PyTorch's names and values; and one step of each.
//
//   hvd::nn::GRU gru(64, 256, {.num_layers = 2, .batch_first = true});
//   hvd::Tensor y = gru(x);                    // [n, t, 64] -> [n, t, 256]
//   auto [output, h] = gru.run(x);             // from zeros,
//   output = gru.run(next, h).output;          // and on from there
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct RecurrentOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  // [batch, time, features] instead of [time, batch, …].
  bool batch_first = false;
  double dropout = 0.0;  // Between layers, in training.
  // Each layer also runs from the last step to the first, with separate
  // weights. Its output concatenates the h of both directions.
  bool bidirectional = false;
  bool relu = false;  // Of an RNN: max(x, 0) instead of tanh.
  DType dtype = DType::kF32;
};

// The layers of both; use GRU or RNN.
class Recurrent : public Module {
 public:
  struct Result {
    Tensor output;  // h of the last layer at every step.
    Tensor h;       // Of all layers and directions after the last step.
  };

  // The output from a zero state.
  Tensor forward(const Tensor& input) override { return run(input).output; }

  // `start` is [layers directions, batch, hidden]; undefined: zeros.
  //   InvalidArgument  shapes do not fit
  Result run(const Tensor& input, const Tensor& start = Tensor());

 protected:
  // "weight_ih_l0" [gates hidden, in], … as in LSTM.
  Recurrent(const char* name, std::int64_t gates, std::int64_t input_size,
            std::int64_t hidden_size, const RecurrentOptions& options);

  // The next state [batch, hidden]: `in` and `own` are the products of the
  // input and of the state h with their weights, with biases, [batch, gates
  // hidden].
  virtual Tensor advance(const Tensor& in, const Tensor& own,
                         const Tensor& h) const = 0;
  const RecurrentOptions& options() const { return options_; }

 private:
  struct Weights {
    Tensor w_ih, w_hh, b_ih, b_hh;
  };
  void add_direction(const std::string& name, std::int64_t inputs);
  // The h of every step, in the order of the input.
  std::vector<Tensor> run_direction(const Tensor& steps, Tensor h,
                                    const Weights& weights,
                                    bool backwards) const;

  const char* const name_;
  const std::int64_t gates_;
  const std::int64_t hidden_size_;
  const RecurrentOptions options_;
  const std::int64_t directions_;
  std::vector<Weights> weights_;  // Layer by layer, both directions of each.
};

// Gates r, z and n (Cho et al. 2014), with PyTorch's place of r:
//   r, z = sigmoid(w_ih x + b_ih + w_hh h + b_hh)
//   n = tanh(w_ih x + b_ih + r (w_hh h + b_hh));  h = (1 - z) n + z h
class GRU : public Recurrent {
 public:
  //   InvalidArgument  a size is not positive, or dropout is not in [0, 1]
  GRU(std::int64_t input_size, std::int64_t hidden_size,
      const RecurrentOptions& options = {})
      : Recurrent("GRU", 3, input_size, hidden_size, options) {}

  // The next state, as of advance().
  static Tensor step(const Tensor& in, const Tensor& own, const Tensor& h);

 protected:
  Tensor advance(const Tensor& in, const Tensor& own,
                 const Tensor& h) const override;
};

// h = tanh(w_ih x + b_ih + w_hh h + b_hh)
class RNN : public Recurrent {
 public:
  //   InvalidArgument  a size is not positive, or dropout is not in [0, 1]
  RNN(std::int64_t input_size, std::int64_t hidden_size,
      const RecurrentOptions& options = {})
      : Recurrent("RNN", 1, input_size, hidden_size, options) {}

 protected:
  Tensor advance(const Tensor& in, const Tensor& own,
                 const Tensor& h) const override;
};

}  // namespace nn
}  // namespace hvd
