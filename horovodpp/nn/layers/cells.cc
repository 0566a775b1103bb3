// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/cells.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/nn/layers/recurrent.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

RecurrentCell::RecurrentCell(const char* name, std::int64_t gates,
                             std::int64_t input_size, std::int64_t hidden_size,
                             const CellOptions& options)
    : name_(name), input_size_(input_size), hidden_size_(hidden_size) {
  if (input_size <= 0 || hidden_size <= 0) {
    throw InvalidArgument(absl::StrCat(name, " from ", input_size, " to ",
                                       hidden_size,
                                       " features; both must be positive"));
  }
  const double bound = kaiming_uniform_bound(hidden_size);
  const auto add = [&](const char* part, const autograd::Dims& shape) {
    return register_parameter(part, uniform(shape, bound, options.dtype));
  };
  const std::int64_t rows = gates * hidden_size;
  weights_.w_ih = add("weight_ih", {rows, input_size});
  weights_.w_hh = add("weight_hh", {rows, hidden_size});
  if (!options.bias) return;
  weights_.b_ih = add("bias_ih", {rows});
  weights_.b_hh = add("bias_hh", {rows});
}

Tensor RecurrentCell::state_for(const Tensor& input,
                                const Tensor& state) const {
  const std::int64_t rank = input.dim();
  if (rank < 1 || rank > 2 || input.size(-1) != input_size_) {
    throw InvalidArgument(absl::StrCat(name_, ": wanted is [batch, ",
                                       input_size_, "] or [", input_size_,
                                       "], but got ", input.describe()));
  }
  autograd::Dims shape = {hidden_size_};
  if (rank == 2) shape = {input.size(0), hidden_size_};
  if (!state.defined()) return zeros(shape, {.dtype = input.dtype()});
  if (state.shape() != shape) {
    throw InvalidArgument(absl::StrCat(name_, ": the state is ",
                                       state.describe(), ", not ",
                                       shape.to_string()));
  }
  return state;
}

Tensor GRUCell::run(const Tensor& input, const Tensor& h) {
  const Tensor state = state_for(input, h);
  const LstmWeights& w = weights();
  return GRU::step(linear(input, w.w_ih, w.b_ih), linear(state, w.w_hh, w.b_hh),
                   state);
}

Tensor RNNCell::run(const Tensor& input, const Tensor& h) {
  const Tensor state = state_for(input, h);
  const LstmWeights& w = weights();
  const Tensor sum =
      linear(input, w.w_ih, w.b_ih) + linear(state, w.w_hh, w.b_hh);
  return relu_ ? relu(sum) : tanh(sum);
}

LstmState LSTMCell::run(const Tensor& input, const LstmState& state) {
  const bool single = input.dim() == 1;
  const auto as_batch = [&](const Tensor& x) {
    return single ? unsqueeze(x, 0) : x;
  };
  const auto given = [&](const Tensor& x) {
    return single ? squeeze(x, 0) : x;
  };
  const LstmState start = {.h = as_batch(state_for(input, state.h)),
                           .c = as_batch(state_for(input, state.c))};
  const LstmResult next = lstm(unsqueeze(as_batch(input), 0), start, weights());
  return {.h = given(next.h), .c = given(next.c)};
}

}  // namespace hvd::nn
