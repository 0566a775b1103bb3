// SPDX-License-Identifier: Apache-2.0
// One step of a recurrent layer, with PyTorch's names and values. For loops
// that choose the next input by the last output.
//
//   hvd::nn::GRUCell cell(64, 256);
//   hvd::Tensor h;                              // undefined: zeros
//   for (const hvd::Tensor& x : inputs) h = cell.run(x, h);   // [n, 64]
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/functional/lstm.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct CellOptions {
  bool bias = true;
  bool relu = false;  // Of an RNNCell: max(x, 0) instead of tanh.
  DType dtype = DType::kF32;
};

// The weights of all cells; use GRUCell, RNNCell or LSTMCell.
class RecurrentCell : public Module {
 protected:
  // "weight_ih" [gates hidden, in], "weight_hh", "bias_ih" and "bias_hh",
  // uniform in ±1/sqrt(hidden).
  //   InvalidArgument  a size is not positive
  RecurrentCell(const char* name, std::int64_t gates, std::int64_t input_size,
                std::int64_t hidden_size, const CellOptions& options);

  // Refuses an input that is not [batch, in] or [in]; returns the state, zeros
  // if `state` is undefined.
  //   InvalidArgument  shapes do not fit
  Tensor state_for(const Tensor& input, const Tensor& state) const;
  const LstmWeights& weights() const { return weights_; }

 private:
  const char* const name_;
  const std::int64_t input_size_;
  const std::int64_t hidden_size_;
  LstmWeights weights_;
};

// A step of a GRU (recurrent.h).
class GRUCell : public RecurrentCell {
 public:
  GRUCell(std::int64_t input_size, std::int64_t hidden_size,
          const CellOptions& options = {})
      : RecurrentCell("GRUCell", 3, input_size, hidden_size, options) {}

  // [batch, in] and the state [batch, hidden] -> the next state; or without
  // batch.
  Tensor run(const Tensor& input, const Tensor& h = Tensor());
  Tensor forward(const Tensor& input) override { return run(input); }
};

// A step of an RNN (recurrent.h).
class RNNCell : public RecurrentCell {
 public:
  RNNCell(std::int64_t input_size, std::int64_t hidden_size,
          const CellOptions& options = {})
      : RecurrentCell("RNNCell", 1, input_size, hidden_size, options),
        relu_(options.relu) {}

  // As of GRUCell.
  Tensor run(const Tensor& input, const Tensor& h = Tensor());
  Tensor forward(const Tensor& input) override { return run(input); }

 private:
  const bool relu_;
};

// A step of an LSTM (lstm.h).
class LSTMCell : public RecurrentCell {
 public:
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size,
           const CellOptions& options = {})
      : RecurrentCell("LSTMCell", 4, input_size, hidden_size, options) {}

  // As of GRUCell, with both parts of the state.
  LstmState run(const Tensor& input, const LstmState& state = {});
  Tensor forward(const Tensor& input) override { return run(input).h; }
};

}  // namespace nn
}  // namespace hvd
