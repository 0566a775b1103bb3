// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/lstm.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/ops/functional/lstm.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

// The steps in reverse order.
Tensor backwards(const Tensor& steps) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(steps.size(0)));
  std::iota(order.rbegin(), order.rend(), 0);
  return index_select(steps, 0, from_vector(order, {steps.size(0)}));
}

LstmResult lstm_backwards(const Tensor& steps, const LstmState& start,
                          const LstmWeights& weights) {
  LstmResult result = lstm(backwards(steps), start, weights);
  result.output = backwards(result.output);
  return result;
}

}  // namespace

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size,
           const LSTMOptions& options)
    : hidden_size_(hidden_size),
      options_(options),
      directions_(options.bidirectional ? 2 : 1) {
  if (input_size <= 0 || hidden_size <= 0 || options.num_layers <= 0) {
    throw InvalidArgument(absl::StrCat(
        "LSTM of ", options.num_layers, " layers from ", input_size, " to ",
        hidden_size, " features; all must be positive"));
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    throw InvalidArgument(absl::StrCat("LSTM: the dropout ", options.dropout,
                                       " is not in [0, 1]"));
  }
  for (std::int64_t i = 0; i < options.num_layers; ++i) {
    const std::int64_t inputs = i == 0 ? input_size : directions_ * hidden_size;
    add_direction(absl::StrCat("l", i), inputs);
    if (directions_ == 2) {
      add_direction(absl::StrCat("l", i, "_reverse"), inputs);
    }
  }
}

void LSTM::add_direction(const std::string& name, std::int64_t inputs) {
  const double bound = kaiming_uniform_bound(hidden_size_);
  const auto add = [&](const char* part, const autograd::Dims& shape) {
    return register_parameter(absl::StrCat(part, name),
                              uniform(shape, bound, options_.dtype));
  };
  LstmWeights& weights = weights_.emplace_back();
  weights.w_ih = add("weight_ih_", {4 * hidden_size_, inputs});
  weights.w_hh = add("weight_hh_", {4 * hidden_size_, hidden_size_});
  if (!options_.bias) return;
  weights.b_ih = add("bias_ih_", {4 * hidden_size_});
  weights.b_hh = add("bias_hh_", {4 * hidden_size_});
}

LstmState LSTM::checked_start(const Tensor& steps,
                              const LstmState& start) const {
  const autograd::Dims shape = {options_.num_layers * directions_,
                                steps.size(1), hidden_size_};
  LstmState result = start;
  for (Tensor* part : {&result.h, &result.c}) {
    if (!part->defined()) *part = zeros(shape, {.dtype = steps.dtype()});
    if (part->shape() == shape) continue;
    throw InvalidArgument(absl::StrCat("LSTM: it begins with ",
                                       part->describe(), ", not ",
                                       shape.to_string()));
  }
  return result;
}

LSTM::Result LSTM::run(const Tensor& input, const LstmState& start) {
  if (input.dim() != 3) {
    throw InvalidArgument(absl::StrCat("LSTM: wanted is ",
                                       options_.batch_first
                                           ? "[batch, time, features]"
                                           : "[time, batch, features]",
                                       ", but got ", input.describe()));
  }
  Tensor steps = options_.batch_first ? input.transpose(0, 1) : input;
  const LstmState from = checked_start(steps, start);
  std::vector<Tensor> h;
  std::vector<Tensor> c;
  for (std::size_t i = 0; i < weights_.size();) {
    if (i > 0) steps = dropout(steps, options_.dropout, is_training());
    std::vector<Tensor> outputs;
    for (std::int64_t d = 0; d < directions_; ++d, ++i) {
      const auto part = static_cast<std::int64_t>(i);
      const LstmState state{.h = from.h.select(0, part),
                            .c = from.c.select(0, part)};
      LstmResult result = d == 0 ? lstm(steps, state, weights_[i])
                                 : lstm_backwards(steps, state, weights_[i]);
      outputs.push_back(result.output);
      h.push_back(result.h);
      c.push_back(result.c);
    }
    steps = directions_ == 1 ? outputs[0] : cat(outputs, -1);
  }
  if (options_.batch_first) steps = steps.transpose(0, 1);
  return {.output = steps, .state = {.h = stack(h), .c = stack(c)}};
}

}  // namespace hvd::nn
