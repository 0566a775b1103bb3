// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/loss.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"

namespace hvd::nn {
namespace {

TEST(Loss, IsTheOperationOfItsNameWithItsOptions) {
  const Tensor x = randn({4, 3});
  const Tensor labels = from_vector<std::int64_t>({0, 2, 1, 2}, {4});
  const CrossEntropyOptions smooth{.label_smoothing = 0.1};
  EXPECT_EQ(CrossEntropyLoss(smooth)(x, labels).item<float>(),
            cross_entropy(x, labels, smooth).item<float>());
  const NllOptions sum{.reduction = Reduction::kSum};
  EXPECT_EQ(NLLLoss(sum)(x, labels).item<float>(),
            nll_loss(x, labels, sum).item<float>());
  const Tensor y = randn({4, 3});
  EXPECT_EQ(MSELoss()(x, y).item<float>(), mse_loss(x, y).item<float>());
  EXPECT_EQ(MSELoss(Reduction::kNone)(x, y).shape(), Shape({4, 3}));
  EXPECT_EQ(L1Loss(Reduction::kSum)(x, y).item<float>(),
            l1_loss(x, y, Reduction::kSum).item<float>());
  EXPECT_EQ(HuberLoss({.delta = 0.5})(x, y).item<float>(),
            huber_loss(x, y, {.delta = 0.5}).item<float>());
  EXPECT_EQ(TripletMarginLoss({.swap = true})(x, y, x * 2.0).item<float>(),
            triplet_margin_loss(x, y, x * 2.0, {.swap = true}).item<float>());
  const Tensor steps = log_softmax(randn({5, 2, 3}), 2);
  const Tensor texts = from_vector<std::int64_t>({1, 2}, {2, 1});
  EXPECT_EQ(CTCLoss({.blank = 0})(steps, texts, {5, 5}, {1, 1}).item<float>(),
            ctc_loss(steps, texts, {5, 5}, {1, 1}).item<float>());
}

}  // namespace
}  // namespace hvd::nn
