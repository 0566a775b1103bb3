// SPDX-License-Identifier: Apache-2.0
#include "models/catalog.h"

#include <gtest/gtest.h>

#include <cmath>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "models/language/gpt.h"
#include "models/vision/swin.h"

namespace hvd {
namespace {

std::int64_t count_parameters(const nn::Module& model) {
  std::int64_t count = 0;
  for (const Tensor& p : model.parameters()) count += p.num_elements();
  return count;
}

TEST(Catalog, MakesEveryImageModel) {
  const NoGrad no_grad;
  const Tensor images = randn({2, 1, 28, 28});
  for (const std::string name : {"mlp", "lenet", "resnet18", "resnet50",
                                 "densenet", "swin", "vit", "gru"}) {
    const auto model = models::make_image_model(name);
    EXPECT_EQ((*model)(images).shape(), Shape({2, 10})) << name;
  }
  const auto unet = models::make_image_model("unet");
  EXPECT_EQ((*unet)(randn({2, 2, 28, 28})).shape(), images.shape());
}

TEST(Catalog, MakesModelsOfTheRequestedWidth) {
  EXPECT_LT(count_parameters(*models::make_image_model("resnet18", 8)),
            count_parameters(*models::make_image_model("resnet18", 16)));
  EXPECT_LT(count_parameters(*models::make_image_model("densenet", 4)),
            count_parameters(*models::make_image_model("densenet", 8)));
  EXPECT_LT(count_parameters(*models::make_image_model("swin", 16)),
            count_parameters(*models::make_image_model("swin", 32)));
  for (const std::string name : {"vit", "gru", "unet"}) {
    EXPECT_LT(count_parameters(*models::make_image_model(name, 16)),
              count_parameters(*models::make_image_model(name, 48)));
  }
  for (const std::string name : {"gpt", "llama", "bert"}) {
    EXPECT_LT(count_parameters(*models::make_text_model(name, {.width = 32})),
              count_parameters(*models::make_text_model(name, {.width = 64})));
  }
}

TEST(Catalog, HasALlamaOfFifteenMillionParameters) {
  const auto model = models::make_text_model("llama-15m");
  EXPECT_NEAR(static_cast<double>(count_parameters(*model)), 15e6, 0.5e6);
}

TEST(Catalog, MakesModelsOfTextThatBeginByGuessing) {
  manual_seed(5);
  const NoGrad no_grad;
  const Tensor tokens = randperm(200).reshape({2, 100});
  for (const std::string name : {"gpt", "lstm", "llama", "bert"}) {
    const auto model = models::make_text_model(name, {.context = 100});
    const Tensor logits = (*model)(tokens);
    const std::int64_t vocabulary = name == "bert" ? 257 : 256;
    ASSERT_EQ(logits.shape(), Shape({2, 100, vocabulary}));
    const Tensor loss = cross_entropy(logits.reshape({-1, vocabulary}),
                                      randperm(200).reshape({-1}));
    EXPECT_NEAR(loss.item<float>(), std::log(256.0), 0.2) << name;
  }
}

TEST(Catalog, RefusesUnknownModelsAndInvalidWidths) {
  EXPECT_THROW(models::make_image_model("gpt"), InvalidArgument);
  EXPECT_THROW(models::make_image_model("mlp", 5), InvalidArgument);
  EXPECT_THROW(models::make_image_model("swin", 20), InvalidArgument);
  EXPECT_THROW(models::make_image_model("resnet18", -1), InvalidArgument);
  EXPECT_THROW(models::make_text_model("swin"), InvalidArgument);
  EXPECT_THROW(models::make_text_model("gpt", {.width = 33}), InvalidArgument);
  EXPECT_THROW(models::make_image_model("vit", 20), InvalidArgument);
  EXPECT_THROW(models::make_image_model("unet", 20), InvalidArgument);
  EXPECT_THROW(models::make_text_model("llama", {.key_heads = 3}),
               InvalidArgument);
  EXPECT_THROW(models::make_text_model("bert", {.width = 33}), InvalidArgument);
  EXPECT_THROW(models::make_text_model("lstm", {.layers = -1}),
               InvalidArgument);
}

TEST(Catalog, HasNoStateButParametersAndMoments) {
  // Buffers that a shifted window computes from its sizes are not saved.
  const models::Swin model;
  EXPECT_EQ(model.state_dict().size(), model.named_parameters().size());
  EXPECT_FALSE(model.named_buffers().empty());
}

TEST(GPT, SeesNoByteBehindTheOneItPredicts) {
  const NoGrad no_grad;
  models::GPT model({.width = 32, .layers = 2, .heads = 2, .context = 8});
  const Tensor tokens = from_vector<std::int64_t>({1, 2, 3, 4, 5, 6}, {1, 6});
  const Tensor before = model(tokens).narrow(1, 0, 3).clone();
  const Tensor other = tokens.clone();
  other.narrow(1, 3, 3).fill_(9);
  const Tensor after = model(other);
  EXPECT_EQ(after.narrow(1, 0, 3).to_vector<float>(),
            before.to_vector<float>());
  EXPECT_THROW(model(randperm(9).reshape({1, 9})), InvalidArgument);
}

}  // namespace
}  // namespace hvd
