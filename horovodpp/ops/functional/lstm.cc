// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/lstm.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/composed.h"
#include "horovodpp/ops/functional/lstm_steps.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

using Values = LstmValues;

// The same from simpler operations.
Values composed_lstm(const Values& in) {
  const std::int64_t n = hidden_of(in);
  Tensor h = in[kH];
  Tensor c = in[kC];
  Values all;
  for (std::int64_t t = 0; t < steps_of(in); ++t) {
    const Tensor gates = linear(select(in[kX], 0, t), in[kWih], in[kBih]) +
                         linear(h, in[kWhh], in[kBhh]);
    const auto gate = [&](std::int64_t k) {
      return narrow(gates, 1, k * n, n);
    };
    c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
    h = sigmoid(gate(3)) * tanh(c);
    all.push_back(h);
  }
  return {stack(all), h, c};
}

Tensor as_rows(const Tensor& x) {
  return reshape(x, {x.size(0) * x.size(1), x.size(2)});
}

// The h that each step multiplied by the recurrent weights.
std::vector<Tensor> hidden_before(const Tensor& output, const Tensor& start) {
  return {start, as_rows(narrow(output, 0, 0, output.size(0) - 1))};
}

struct LstmBackward : Node {
  const char* name() const override { return "LstmBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    Values in;
    for (SavedTensor& input : inputs) in.push_back(input.unpack(*this));
    const Values gradients(grads.begin(), grads.end());
    if (is_grad_enabled()) {
      std::vector<bool> wanted;
      for (std::size_t i = 0; i < kInputs; ++i) wanted.push_back(wants(i));
      const Values all =
          composed_backward(composed_lstm, in, wanted, gradients);
      std::copy(all.begin(), all.end(), results.begin());
      return;
    }
    fused(in, gradients, results);
  }
  void release_saved() override {
    for (SavedTensor& input : inputs) input.release();
    for (SavedTensor* saved : {&output, &cells, &gates}) saved->release();
  }

  void fused(Values in, Values grads, std::span<Tensor> results) {
    const DType dtype = in[kX].dtype();
    for (Tensor& value : in) {
      if (value.defined()) value = widened(value.detach());
    }
    for (Tensor& grad : grads) {
      if (grad.defined()) grad = widened(grad);
    }
    const LstmForward saved{output.unpack(*this), cells.unpack(*this),
                            gates.unpack(*this)};
    const LstmGateGradients found = lstm_backward_steps(in, saved, grads);
    if (wants(kX)) {
      results[kX] = reshape(matmul(found.gates, in[kWih]), in[kX].shape());
    }
    if (wants(kH)) results[kH] = found.h;
    if (wants(kC)) results[kC] = found.c;
    if (wants(kWih))
      results[kWih] = lstm_weight_gradient(found.gates, {as_rows(in[kX])});
    if (wants(kWhh)) {
      results[kWhh] = lstm_weight_gradient(found.gates,
                                           hidden_before(saved.output, in[kH]));
    }
    if (wants(kBih) || wants(kBhh)) {
      const Tensor bias = sum(found.gates, {0});
      if (wants(kBih)) results[kBih] = bias;
      if (wants(kBhh)) results[kBhh] = bias;
    }
    for (Tensor& result : results) {
      if (result.defined()) result = to(result, dtype);
    }
  }

  std::array<SavedTensor, kInputs> inputs;
  // In float32 at least.
  SavedTensor output, cells, gates;
};

void check_lstm(const Values& in) {
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (i < kBih || in[i].defined()) check_same_dtype(in[kX], in[i], "lstm");
  }
  const bool ranks = in[kX].dim() == 3 && in[kH].dim() == 2;
  const std::int64_t n = ranks ? hidden_of(in) : 0;
  bool fits = ranks && steps_of(in) > 0 &&
              in[kH].shape() == Dims({batch_of(in), n}) &&
              in[kC].shape() == in[kH].shape() &&
              in[kWih].shape() == Dims({4 * n, in[kX].size(2)}) &&
              in[kWhh].shape() == Dims({4 * n, n}) &&
              in[kBih].defined() == in[kBhh].defined();
  if (fits && in[kBih].defined()) {
    fits =
        in[kBih].shape() == Dims({4 * n}) && in[kBhh].shape() == Dims({4 * n});
  }
  if (fits) return;
  throw InvalidArgument(
      absl::StrCat("lstm: x ", in[kX].describe(), ", h ", in[kH].describe(),
                   ", c ", in[kC].describe(), ", w_ih ", in[kWih].describe(),
                   " and w_hh ", in[kWhh].describe(),
                   " do not go together, or with the biases. Expected: [steps, "
                   "batch, in], [batch, hidden] twice, [4 hidden, in], [4 "
                   "hidden, hidden], and no biases or two of [4 hidden]"));
}

Ref<LstmBackward> recorded(const Values& in) {
  auto node = make_node<LstmBackward>();
  for (std::size_t i = 0; i < kInputs; ++i) {
    node->add_edge(in[i].defined() ? gradient_edge(in[i]) : Edge());
    if (in[i].defined()) node->inputs[i].save(in[i]);
  }
  return node;
}

}  // namespace
}  // namespace autograd

LstmResult lstm(const Tensor& x, const LstmState& start,
                const LstmWeights& weights) {
  using namespace autograd;  // NOLINT(google-build-using-namespace)
  Values in = {
      x,           start.h, start.c, weights.w_ih, weights.w_hh, weights.b_ih,
      weights.b_hh};
  for (Tensor& value : in) value = autocast_lower(value);
  check_lstm(in);
  bool wanted = false;
  for (const Tensor& value : in) wanted |= needs_grad(value);
  const std::int64_t last = in[kX].size(0) - 1;
  const auto [output, h, c, wide_output, cells, gates] = result_of("lstm", [&] {
    NoGrad no_grad;
    Autocast off(DType::kBF16, {.enabled = false});
    Values wide;
    for (const Tensor& value : in) {
      wide.push_back(value.defined() ? widened(value.detach()) : value);
    }
    const LstmForward made = lstm_forward_steps(wide);
    const DType dtype = in[kX].dtype();
    return std::array{to(made.output, dtype),
                      to(clone(select(made.output, 0, last)), dtype),
                      to(clone(select(made.cells, 0, last + 1)), dtype),
                      made.output,
                      made.cells,
                      made.gates};
  });
  LstmResult result{output, h, c};
  if (!wanted) return result;
  const Ref<LstmBackward> node = recorded(in);
  node->cells.save(cells);
  node->gates.save(gates);
  for (const Tensor* tensor : {&output, &h, &c}) {
    set_history(*tensor, node);
  }
  if (output.dtype() == wide_output.dtype()) {
    node->output.save_output(output);
  } else {
    node->output.save(wide_output);
  }
  return result;
}

}  // namespace hvd
