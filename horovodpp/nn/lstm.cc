#include "horovodpp/nn/lstm.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/nn/init.h"

namespace hvd::nn {

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size,
           const LSTMOptions& options)
    : hidden_size_(hidden_size), options_(options) {
  if (input_size <= 0 || hidden_size <= 0 || options.num_layers <= 0) {
    throw InvalidArgument(absl::StrCat(
        "LSTM of ", options.num_layers, " layers from ", input_size, " to ",
        hidden_size, " features; all must be positive"));
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    throw InvalidArgument(absl::StrCat("LSTM: the dropout ", options.dropout,
                                       " is not in [0, 1]"));
  }
  const double bound = kaiming_uniform_bound(hidden_size);
  const auto add = [&](const std::string& name, const autograd::Dims& sizes) {
    return register_parameter(name, uniform(sizes, bound, options.dtype));
  };
  for (std::int64_t i = 0; i < options.num_layers; ++i) {
    const std::string layer = absl::StrCat("l", i);
    const std::int64_t inputs = i == 0 ? input_size : hidden_size;
    LstmWeights& weights = layers_.emplace_back();
    weights.w_ih = add("weight_ih_" + layer, {4 * hidden_size, inputs});
    weights.w_hh = add("weight_hh_" + layer, {4 * hidden_size, hidden_size});
    if (!options.bias) continue;
    weights.b_ih = add("bias_ih_" + layer, {4 * hidden_size});
    weights.b_hh = add("bias_hh_" + layer, {4 * hidden_size});
  }
}

LstmState LSTM::checked_start(const Tensor& steps,
                              const LstmState& start) const {
  const autograd::Dims sizes = {options_.num_layers, steps.size(1),
                                hidden_size_};
  LstmState result = start;
  for (Tensor* part : {&result.h, &result.c}) {
    if (!part->defined()) *part = zeros(sizes, {.dtype = steps.dtype()});
    if (part->sizes() == sizes) continue;
    throw InvalidArgument(absl::StrCat("LSTM: it begins with ",
                                       part->describe(), ", not ",
                                       sizes.to_string()));
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
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) steps = dropout(steps, options_.dropout, is_training());
    const auto layer = static_cast<std::int64_t>(i);
    LstmResult result = lstm(
        steps, {.h = from.h.select(0, layer), .c = from.c.select(0, layer)},
        layers_[i]);
    steps = result.output;
    h.push_back(result.h);
    c.push_back(result.c);
  }
  if (options_.batch_first) steps = steps.transpose(0, 1);
  return {.output = steps, .state = {.h = stack(h), .c = stack(c)}};
}

}  // namespace hvd::nn
