// SPDX-License-Identifier: Apache-2.0
#include "models/language/llama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/safetensors.h"
#include "models/language/bert.h"
#include "models/vision/vit.h"
#include "test/models/same_numbers.h"
#include "test/support/temporary_folder.h"

namespace hvd {
namespace {

models::LlamaOptions small_llama(std::int64_t window = 0) {
  return {.width = 32,
          .layers = 2,
          .heads = 4,
          .key_heads = 2,
          .window = window,
          .vocabulary = 40};
}

std::set<std::string> names_of(const nn::Module& model) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : model.state_dict()) names.insert(name);
  return names;
}

TEST(Llama, GeneratesTheSameTokensWithACacheAndWithout) {
  for (const std::int64_t window : {0, 4}) {
    models::Llama model(small_llama(window));
    fill_with_same_numbers(model);
    const std::vector<std::int64_t> prompt = {3, 1, 4, 1, 5};
    for (const nn::SamplingOptions& sampling :
         {nn::SamplingOptions{.temperature = 0}, nn::SamplingOptions{},
          nn::SamplingOptions{.top_k = 5}, nn::SamplingOptions{.top_p = 0.7}}) {
      const nn::GenerateOptions options{
          .tokens = 25, .sampling = sampling, .seed = 9};
      const auto cached = nn::generate(model.with_cache(30), prompt, options);
      EXPECT_EQ(cached.size(), 25u);
      EXPECT_EQ(cached,
                nn::generate(nn::without_cache(model, 100), prompt, options));
    }
  }
}

TEST(Llama, RefusesMoreTokensThanItsCacheHolds) {
  models::Llama model(small_llama());
  EXPECT_THROW(nn::generate(model.with_cache(5), {1, 2}, {.tokens = 5}),
               InvalidArgument);
  EXPECT_NO_THROW(nn::generate(model.with_cache(6), {1, 2}, {.tokens = 5}));
}

TEST(Llama, SeesNoTokenBehindTheOneItPredicts) {
  const NoGrad no_grad;
  models::Llama model(small_llama());
  const Tensor tokens = same_integers("tokens", {1, 6}, 40);
  const Tensor before = model(tokens).narrow(1, 0, 3).clone();
  const Tensor other = tokens.clone();
  other.narrow(1, 3, 3).fill_(9);
  EXPECT_EQ(model(other).narrow(1, 0, 3).to_vector<float>(),
            before.to_vector<float>());
}

TEST(Llama, LoadsAFileOfHuggingFace) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model.safetensors";
  models::Llama model(small_llama());
  model.save(path);
  models::LlamaOptions apart = small_llama();
  apart.tied = false;
  models::Llama untied(apart);
  EXPECT_TRUE(names_of(untied).contains("lm_head.weight"));
  const std::set<std::string> names = names_of(model);
  EXPECT_EQ(names.size(), 2u + 2 * 9);
  for (const std::string name :
       {"model.embed_tokens.weight", "model.norm.weight",
        "model.layers.1.self_attn.q_proj.weight",
        "model.layers.1.self_attn.k_proj.weight",
        "model.layers.1.self_attn.v_proj.weight",
        "model.layers.1.self_attn.o_proj.weight",
        "model.layers.0.mlp.gate_proj.weight",
        "model.layers.0.mlp.up_proj.weight",
        "model.layers.0.mlp.down_proj.weight",
        "model.layers.0.input_layernorm.weight",
        "model.layers.0.post_attention_layernorm.weight"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  models::Llama other(small_llama());
  other.load(path);
  const Tensor tokens = same_integers("tokens", {1, 6}, 40);
  EXPECT_EQ(other(tokens).to_vector<float>(), model(tokens).to_vector<float>());
}

TEST(Bert, HasTheNamesOfHuggingFace) {
  const auto names = names_of(models::Bert({.width = 32, .layers = 1}));
  EXPECT_EQ(names.size(), 5u + 16 + 5);
  for (const std::string name :
       {"bert.embeddings.token_type_embeddings.weight",
        "bert.embeddings.LayerNorm.bias",
        "bert.encoder.layer.0.attention.self.query.weight",
        "bert.encoder.layer.0.attention.output.LayerNorm.weight",
        "bert.encoder.layer.0.intermediate.dense.bias",
        "bert.encoder.layer.0.output.dense.weight",
        "cls.predictions.transform.LayerNorm.weight", "cls.predictions.bias"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Vit, HasTheNamesOfTorchvision) {
  const auto names = names_of(models::Vit({.layers = 1}));
  EXPECT_EQ(names.size(), 4u + 12 + 4);
  for (const std::string name :
       {"class_token", "conv_proj.weight", "encoder.pos_embedding",
        "encoder.layers.encoder_layer_0.ln_1.weight",
        "encoder.layers.encoder_layer_0.self_attention.in_proj_weight",
        "encoder.layers.encoder_layer_0.self_attention.out_proj.bias",
        "encoder.layers.encoder_layer_0.mlp.3.weight", "encoder.ln.bias",
        "heads.head.weight"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace hvd
