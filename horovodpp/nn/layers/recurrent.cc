// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/recurrent.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

Recurrent::Recurrent(const char* name, std::int64_t gates,
                     std::int64_t input_size, std::int64_t hidden_size,
                     const RecurrentOptions& options)
    : name_(name),
      gates_(gates),
      hidden_size_(hidden_size),
      options_(options),
      directions_(options.bidirectional ? 2 : 1) {
  if (input_size <= 0 || hidden_size <= 0 || options.num_layers <= 0) {
    throw InvalidArgument(absl::StrCat(
        name, " of ", options.num_layers, " layers from ", input_size, " to ",
        hidden_size, " features; all must be positive"));
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    throw InvalidArgument(absl::StrCat(name, ": the dropout ", options.dropout,
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

void Recurrent::add_direction(const std::string& name, std::int64_t inputs) {
  const double bound = kaiming_uniform_bound(hidden_size_);
  const auto add = [&](const char* part, const autograd::Dims& shape) {
    return register_parameter(absl::StrCat(part, name),
                              uniform(shape, bound, options_.dtype));
  };
  const std::int64_t rows = gates_ * hidden_size_;
  Weights& weights = weights_.emplace_back();
  weights.w_ih = add("weight_ih_", {rows, inputs});
  weights.w_hh = add("weight_hh_", {rows, hidden_size_});
  if (!options_.bias) return;
  weights.b_ih = add("bias_ih_", {rows});
  weights.b_hh = add("bias_hh_", {rows});
}

std::vector<Tensor> Recurrent::run_direction(const Tensor& steps, Tensor h,
                                             const Weights& weights,
                                             bool backwards) const {
  // One product covers the input of all steps.
  const std::vector<Tensor> in =
      unbind(linear(steps, weights.w_ih, weights.b_ih), 0);
  std::vector<Tensor> result(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t t = backwards ? in.size() - 1 - i : i;
    h = advance(in[t], linear(h, weights.w_hh, weights.b_hh), h);
    result[t] = h;
  }
  return result;
}

Recurrent::Result Recurrent::run(const Tensor& input, const Tensor& start) {
  if (input.dim() != 3 || input.size(options_.batch_first ? 1 : 0) == 0) {
    throw InvalidArgument(
        absl::StrCat(name_, ": wanted is ",
                     options_.batch_first ? "[batch, time, features]"
                                          : "[time, batch, features]",
                     " with a step, but got ", input.describe()));
  }
  Tensor steps = options_.batch_first ? input.transpose(0, 1) : input;
  const autograd::Dims shape = {options_.num_layers * directions_,
                                steps.size(1), hidden_size_};
  const Tensor from =
      start.defined() ? start : zeros(shape, {.dtype = steps.dtype()});
  if (from.shape() != shape) {
    throw InvalidArgument(absl::StrCat(name_, ": it begins with ",
                                       from.describe(), ", not ",
                                       shape.to_string()));
  }
  std::vector<Tensor> last;
  for (std::size_t i = 0; i < weights_.size();) {
    if (i > 0) steps = dropout(steps, options_.dropout, is_training());
    std::vector<Tensor> outputs;
    for (std::int64_t d = 0; d < directions_; ++d, ++i) {
      const std::vector<Tensor> all =
          run_direction(steps, from.select(0, static_cast<std::int64_t>(i)),
                        weights_[i], d == 1);
      outputs.push_back(stack(all));
      last.push_back(d == 0 ? all.back() : all.front());
    }
    steps = directions_ == 1 ? outputs[0] : cat(outputs, -1);
  }
  if (options_.batch_first) steps = steps.transpose(0, 1);
  return {.output = steps, .h = stack(last)};
}

Tensor GRU::advance(const Tensor& in, const Tensor& own,
                    const Tensor& h) const {
  return step(in, own, h);
}

Tensor GRU::step(const Tensor& in, const Tensor& own, const Tensor& h) {
  const std::vector<Tensor> x = in.chunk(3, -1);
  const std::vector<Tensor> y = own.chunk(3, -1);
  const Tensor r = sigmoid(x[0] + y[0]);
  const Tensor z = sigmoid(x[1] + y[1]);
  const Tensor n = tanh(x[2] + r * y[2]);
  return n + z * (h - n);
}

Tensor RNN::advance(const Tensor& in, const Tensor& own,
                    const Tensor& /*h*/) const {
  const Tensor sum = in + own;
  return options().relu ? relu(sum) : tanh(sum);
}

}  // namespace hvd::nn
