// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/norms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/core/error.h"

namespace hvd::nn {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(BatchNorm2d, BeginsWithOnesAndZeros) {
  BatchNorm2d norm(3);
  EXPECT_THAT(norm.weight().to_vector<float>(), Each(1));
  EXPECT_THAT(norm.bias().to_vector<float>(), Each(0));
  EXPECT_THAT(norm.running_mean().to_vector<float>(), Each(0));
  EXPECT_THAT(norm.running_var().to_vector<float>(), Each(1));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : norm.state_dict()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("weight", "bias", "running_mean",
                                 "running_var", "num_batches_tracked"));
}

// Item 87 of the autograd contract.
TEST(BatchNorm2d, CountsBatchesWhileTrainingOnly) {
  BatchNorm2d norm(2);
  const Tensor count = norm.named_buffers()[2].tensor;
  const Tensor x = randn({4, 2, 3, 3});
  norm(x);
  norm(x);
  EXPECT_EQ(count.item<std::int64_t>(), 2);
  norm.eval();
  const auto before = norm.running_mean().to_vector<float>();
  norm(x);
  EXPECT_EQ(count.item<std::int64_t>(), 2);
  EXPECT_EQ(norm.running_mean().to_vector<float>(), before);
}

// Item 179 of the autograd contract.
TEST(BatchNorm2d, CountsABatchOnceThatACheckpointRecomputes) {
  BatchNorm2d norm(2);
  const Tensor x = randn({4, 2, 3, 3}, {.requires_grad = true});
  const auto y = autograd::checkpoint_reentrant(
      [&](const std::vector<Tensor>& inputs) {
        return std::vector{norm(inputs[0])};
      },
      {x});
  y[0].sum().backward();
  EXPECT_EQ(norm.named_buffers()[2].tensor.item<std::int64_t>(), 1);
}

TEST(BatchNorm2d, WithoutRunningMomentsTakesThoseOfItsInput) {
  BatchNorm2d norm(2, {.affine = false, .track_running_stats = false});
  EXPECT_TRUE(norm.state_dict().empty());
  norm.eval();
  const Tensor y = norm(randn({8, 2, 4, 4}) * 3.0 + 5.0);
  EXPECT_NEAR(y.mean().item<float>(), 0, 1e-5);
}

TEST(BatchNorm2d, RefusesInputsThatAreNoImages) {
  BatchNorm2d norm(2);
  EXPECT_THROW(norm(ones({4, 2})), InvalidArgument);
  EXPECT_THROW(norm(ones({4, 3, 2, 2})), InvalidArgument);
  EXPECT_THROW(BatchNorm2d(0), InvalidArgument);
}

TEST(LayerNorm, BeginsWithOnesAndZeros) {
  LayerNorm norm({2, 3});
  EXPECT_THAT(norm.weight().to_vector<float>(), testing::Each(1));
  EXPECT_THAT(norm.bias().to_vector<float>(), testing::Each(0));
  EXPECT_EQ(norm.weight().shape(), Shape({2, 3}));
}

TEST(LayerNorm, MayLackBiasOrBoth) {
  LayerNorm scaled({3}, {.bias = false});
  EXPECT_EQ(scaled.named_parameters().size(), 1u);
  LayerNorm plain({3}, {.elementwise_affine = false});
  EXPECT_TRUE(plain.named_parameters().empty());
  const Tensor x = randn({5, 3});
  EXPECT_EQ(scaled(x).to_vector<float>(), plain(x).to_vector<float>());
}

TEST(LayerNorm, RefusesInvalidShapes) {
  EXPECT_THROW(LayerNorm(autograd::Dims{}), InvalidArgument);
  EXPECT_THROW(LayerNorm({3, 0}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
