// SPDX-License-Identifier: Apache-2.0
// Stacks of transformer layers, and the adaptive softmax, load a state_dict of
// PyTorch's, and compute the same results and gradients.
// test/fixtures/make_transformer_fixtures.py makes the numbers.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "test/autograd/near.h"
#include "test/models/same_numbers.h"

namespace hvd::nn {
namespace {

const std::map<std::string, Tensor>& transformer_numbers() {
  static const auto file = read_fixture("transformers.safetensors");
  return file;
}

void load_numbers(Module& module, const std::string& name) {
  StateDict state;
  const std::string prefix = name + ".state.";
  for (const auto& [key, tensor] : transformer_numbers()) {
    if (key.starts_with(prefix)) {
      state.push_back({key.substr(prefix.size()), tensor});
    }
  }
  module.to(DType::kF64);
  module.load_state_dict(state);
}

Tensor first_input(const std::string& name) {
  return transformer_numbers().at(name + ".in").clone().set_requires_grad(true);
}

using Run = std::function<Tensor(const Tensor&)>;

void compare_with_torch(const std::string& name, const Run& run) {
  const Tensor x = first_input(name);
  const Tensor y = run(x);
  expect_near(y, transformer_numbers().at(name + ".out"), 1e-12);
  y.backward(same_uniform(name, y.shape()));
  expect_near(x.grad(), transformer_numbers().at(name + ".grad"), 1e-11);
}

TransformerLayerOptions small_layer() {
  return {.feedforward = 8, .dropout = 0, .batch_first = true};
}

Tensor padding() {
  return from_vector<float>({0, 0, 0, 0, 0, 0, 1, 1}, {2, 4}).to(DType::kBool);
}

Tensor causal(std::int64_t steps) {
  return Transformer::subsequent_mask(steps, DType::kF64);
}

TEST(PyTorchsTransformers, EncodeWithMasksAndANorm) {
  TransformerLayerOptions layer = small_layer();
  layer.gelu = true;
  TransformerEncoder encoder(6, 2, 2, {.layer = layer, .norm = true});
  load_numbers(encoder, "encoder");
  const Tensor hidden = padding().to(DType::kF64) * -1e9;
  compare_with_torch("encoder", [&](const Tensor& x) {
    return encoder.run(x, {.mask = causal(4), .key_padding_mask = hidden});
  });
}

TEST(PyTorchsTransformers, DecodeWithTheNormFirst) {
  TransformerLayerOptions layer = small_layer();
  layer.norm_first = true;
  TransformerDecoder decoder(6, 2, 2, {.layer = layer});
  load_numbers(decoder, "decoder");
  compare_with_torch("decoder", [&](const Tensor& x) {
    return decoder.run(x.narrow(1, 1, 3), x, {.mask = causal(3)});
  });
  EXPECT_THROW(decoder(first_input("decoder")), InvalidArgument);
}

TEST(PyTorchsTransformers, EncodeAndDecode) {
  Transformer model(
      6, 2, {.encoder_layers = 1, .decoder_layers = 2, .layer = small_layer()});
  load_numbers(model, "transformer");
  const TransformerMasks masks = {.source = {.key_padding_mask = padding()},
                                  .target = {.mask = causal(3)},
                                  .memory = {.key_padding_mask = padding()}};
  const auto run = [&](const Tensor& x) {
    return model.run(x, x.narrow(1, 1, 3), masks);
  };
  compare_with_torch("transformer", run);
  EXPECT_THROW(model(first_input("transformer")), InvalidArgument);
  EXPECT_THROW(TransformerEncoder(6, 2, 0), InvalidArgument);
}

TEST(PyTorchsTransformers, DropOutInTrainingAndRepeatItWhenRecomputed) {
  std::vector<std::vector<double>> gradients;
  for (const bool recomputed : {false, true}) {
    TransformerLayerOptions layer = small_layer();
    layer.dropout = 0.5;
    TransformerEncoder encoder(6, 2, 2, {.layer = layer});
    encoder.to(DType::kF64);
    for (const Tensor& parameter : encoder.parameters()) {
      NoGrad no_grad;
      parameter.copy_(same_uniform("dropped", parameter.shape()));
    }
    if (recomputed) checkpoint(encoder);
    manual_seed(7);
    const Tensor x = first_input("encoder");
    encoder(x).sum().backward();
    gradients.push_back(x.grad().to_vector<double>());
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(PyTorchsAdaptiveSoftmax, HasTheSameResultsAndGradients) {
  AdaptiveLogSoftmaxWithLoss softmax(8, 12, {3, 7},
                                     {.div_value = 2, .head_bias = true});
  load_numbers(softmax, "adaptive");
  const auto& numbers = transformer_numbers();
  const Tensor x = first_input("adaptive");
  const Tensor target = numbers.at("adaptive.target");
  const auto [output, loss] = softmax.loss(x, target);
  expect_near(output, numbers.at("adaptive.out"), 1e-12);
  expect_near(loss.reshape({1}), numbers.at("adaptive.loss"), 1e-12);
  loss.backward();
  expect_near(x.grad(), numbers.at("adaptive.grad"), 1e-12);
  expect_near(softmax.log_prob(x), numbers.at("adaptive.log_prob"), 1e-12);
  EXPECT_EQ(softmax.predict(x).to_vector<std::int64_t>(),
            numbers.at("adaptive.predicted").to_vector<std::int64_t>());
  const auto run = [&](const std::vector<Tensor>& in) {
    return std::vector{softmax.loss(in[0], target).loss};
  };
  autograd::gradgradcheck(run, {first_input("adaptive")});
}

TEST(PyTorchsAdaptiveSoftmax, RefusesWhatDoesNotFit) {
  EXPECT_THROW(AdaptiveLogSoftmaxWithLoss(8, 12, {}), InvalidArgument);
  EXPECT_THROW(AdaptiveLogSoftmaxWithLoss(8, 12, {7, 3}), InvalidArgument);
  EXPECT_THROW(AdaptiveLogSoftmaxWithLoss(8, 12, {12}), InvalidArgument);
  EXPECT_THROW(AdaptiveLogSoftmaxWithLoss(3, 12, {4}), InvalidArgument);
  AdaptiveLogSoftmaxWithLoss softmax(8, 12, {3, 7}, {.div_value = 2});
  const auto classes = [](std::vector<std::int64_t> at) {
    const auto n = static_cast<std::int64_t>(at.size());
    return from_vector<std::int64_t>(at, {n});
  };
  EXPECT_THROW(softmax.loss(ones({2, 8}), classes({0})), InvalidArgument);
  EXPECT_THROW(softmax.loss(ones({1, 7}), classes({0})), InvalidArgument);
  EXPECT_THROW(softmax.loss(ones({1, 8}), classes({12})), InvalidArgument);
  EXPECT_THROW(softmax.loss(ones({1, 8}), classes({-1})), InvalidArgument);
  const auto one = softmax.loss(ones({8}), classes({5}).reshape({}));
  EXPECT_EQ(one.output.dim(), 0);
}

}  // namespace
}  // namespace hvd::nn
