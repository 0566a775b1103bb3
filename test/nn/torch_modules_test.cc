// SPDX-License-Identifier: Apache-2.0
// A state_dict of PyTorch's modules loads completely, and the modules then
// compute the same. test/fixtures/make_module_fixtures.py makes the expected
// numbers.
#include <gtest/gtest.h>

#include "horovodpp/nn.h"
#include "test/autograd/near.h"
#include "test/models/same_numbers.h"

namespace hvd::nn {
namespace {

constexpr double kTolerance = 1e-12;

class PyTorchsModule : public testing::Test {
 protected:
  static Tensor wanted(const std::string& name) {
    static const auto file = read_fixture("modules.safetensors");
    return file.at(name);
  }

  static void load(Module& module, const std::string& name) {
    static const auto file =
        load_safetensors(HVD_FIXTURES "/modules.safetensors").tensors;
    module.to(DType::kF64);
    module.load_state_dict(without_prefix(name + ".state.", file));
  }

  static void expect_result(const Tensor& found, const std::string& name) {
    SCOPED_TRACE(name);
    expect_near(found, wanted(name), kTolerance);
  }
};

TEST_F(PyTorchsModule, Conv2d) {
  Conv2d module(4, 6, {3, 2},
                Conv2dOptions{.stride = 2, .padding = {1, 0}, .groups = 2});
  load(module, "conv2d");
  expect_result(module(wanted("conv2d.in")), "conv2d.out");
}

TEST_F(PyTorchsModule, BatchNorm2d) {
  for (const std::string name : {"batch_norm", "batch_norm_mean"}) {
    BatchNorm2dOptions options;
    if (name == "batch_norm_mean") options.momentum = std::nullopt;
    BatchNorm2d module(3, options);
    load(module, name);
    expect_result(module(wanted(name + ".in0")), name + ".out0");
    expect_result(module(wanted(name + ".in1")), name + ".out1");
    module.eval();
    expect_result(module(wanted(name + ".in0")), name + ".evaluated");
    for (const auto& [key, tensor] : module.state_dict()) {
      expect_result(tensor, name + ".after." + key);
    }
  }
}

TEST_F(PyTorchsModule, LayerNorm) {
  LayerNorm module({4, 5}, {.eps = 1e-3});
  load(module, "layer_norm");
  expect_result(module(wanted("layer_norm.in")), "layer_norm.out");
}

TEST_F(PyTorchsModule, Embedding) {
  Embedding module(7, 4, {.padding_index = 2});
  load(module, "embedding");
  expect_result(module(wanted("embedding.in")), "embedding.out");
}

TEST_F(PyTorchsModule, MultiheadAttention) {
  MultiheadAttention module(12, 3, {.batch_first = true});
  load(module, "attention");
  const Tensor x = wanted("attention.query");
  const Tensor memory = wanted("attention.memory");
  expect_result(module(x), "attention.self");
  for (const bool need_weights : {false, true}) {
    const auto causal = module.attend(
        x, x, x, {.is_causal = true, .need_weights = need_weights});
    expect_result(causal.output, "attention.causal");
    const auto masked =
        module.attend(x, memory, memory,
                      {.mask = wanted("attention.mask"),
                       .key_padding_mask = wanted("attention.padding"),
                       .need_weights = need_weights});
    expect_result(masked.output, "attention.masked");
    ASSERT_EQ(masked.weights.defined(), need_weights);
    if (need_weights) expect_result(masked.weights, "attention.weights");
  }
}

TEST_F(PyTorchsModule, Lstm) {
  for (const std::string name : {"lstm", "lstm_both_ways"}) {
    LSTM module(5, 6,
                {.num_layers = 2,
                 .batch_first = true,
                 .bidirectional = name == "lstm_both_ways"});
    load(module, name);
    const Tensor x = wanted(name + ".in");
    expect_result(module(x), name + ".zeros");
    const auto result =
        module.run(x, {.h = wanted(name + ".h"), .c = wanted(name + ".c")});
    expect_result(result.output, name + ".out");
    expect_result(result.state.h, name + ".last_h");
    expect_result(result.state.c, name + ".last_c");
  }
}

}  // namespace
}  // namespace hvd::nn
