// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/grad_scaler.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/clip_grad.h"
#include "horovodpp/optim/sgd.h"

namespace hvd::optim {
namespace {

constexpr float kOverflow = std::numeric_limits<float>::infinity();

struct ScaledModel {
  Tensor w = from_vector<float>({1, 2}, {2}, true);
  SGD sgd{std::vector<nn::NamedTensor>{{"w", w}},
          SGDOptions{.learning_rate = 1}};

  // A loss with gradients 3 and 4, times `factor`.
  Tensor loss(float factor = 1) const {
    return (w * from_vector<float>({3 * factor, 4 * factor}, {2})).sum();
  }
};

TEST(GradScaler, MultipliesTheLossAndDividesTheGradients) {
  ScaledModel m;
  GradScaler scaler({.init_scale = 1024});
  scaler.scale(m.loss()).backward();
  EXPECT_EQ(m.w.grad().to_vector<float>(), (std::vector<float>{3072, 4096}));
  scaler.unscale_(m.sgd);
  EXPECT_EQ(m.w.grad().to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(clip_grad_norm_({m.w}, 100), 5.0);
  EXPECT_TRUE(scaler.step(m.sgd));
  scaler.update();
  EXPECT_EQ(m.w.to_vector<float>(), (std::vector<float>{-2, -2}));
  EXPECT_EQ(scaler.factor(), 1024);
}

TEST(GradScaler, LeavesOutStepsThatOverflowAndGrowsAgain) {
  ScaledModel m;
  GradScaler scaler({.init_scale = 8, .growth_interval = 2});
  const auto step = [&](float factor) {
    m.sgd.zero_grad();
    scaler.scale(m.loss(factor)).backward();
    const bool stepped = scaler.step(m.sgd);
    scaler.update();
    return stepped;
  };
  EXPECT_FALSE(step(kOverflow));
  EXPECT_EQ(m.w.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(scaler.factor(), 4);
  EXPECT_TRUE(step(1));
  EXPECT_EQ(scaler.factor(), 4);
  EXPECT_FALSE(step(kOverflow));  // Restarts the count.
  EXPECT_EQ(scaler.factor(), 2);
  EXPECT_TRUE(step(1));
  EXPECT_TRUE(step(1));
  EXPECT_EQ(scaler.factor(), 4);
}

TEST(GradScaler, HasNoEffectIfDisabled) {
  ScaledModel m;
  GradScaler scaler({.enabled = false});
  scaler.scale(m.loss()).backward();
  EXPECT_EQ(m.w.grad().to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_TRUE(scaler.step(m.sgd));
  scaler.update();
  EXPECT_EQ(scaler.factor(), 1);
}

TEST(GradScaler, RefusesCallsOutOfOrder) {
  ScaledModel m;
  GradScaler scaler;
  EXPECT_THROW(scaler.update(), Error);
  scaler.scale(m.loss()).backward();
  scaler.unscale_(m.sgd);
  EXPECT_THROW(scaler.unscale_(m.sgd), Error);
  scaler.step(m.sgd);
  EXPECT_THROW(scaler.step(m.sgd), Error);
  EXPECT_THROW(scaler.unscale_(m.sgd), Error);
  scaler.update();
  EXPECT_NO_THROW(scaler.unscale_(m.sgd));
}

TEST(GradScaler, RefusesInvalidOptions) {
  EXPECT_THROW(GradScaler({.init_scale = 0}), Error);
  EXPECT_THROW(GradScaler({.growth_factor = 1}), Error);
  EXPECT_THROW(GradScaler({.backoff_factor = 1}), Error);
  EXPECT_THROW(GradScaler({.growth_interval = 0}), Error);
}

TEST(GradScaler, GoesOnFromItsState) {
  ScaledModel m;
  GradScaler scaler({.init_scale = 8, .growth_interval = 3});
  for (int i = 0; i < 2; ++i) {
    m.sgd.zero_grad();
    scaler.scale(m.loss()).backward();
    scaler.step(m.sgd);
    scaler.update();
  }
  GradScaler other;
  other.load_state_dict(scaler.state_dict());
  m.sgd.zero_grad();
  other.scale(m.loss()).backward();
  other.step(m.sgd);
  other.update();
  EXPECT_EQ(other.factor(), 16);

  nn::StateDict lacking = scaler.state_dict();
  lacking.pop_back();
  EXPECT_THROW(other.load_state_dict(lacking), Error);
  nn::StateDict longer = scaler.state_dict();
  longer.push_back({"more", nn::scalar_tensor(1)});
  EXPECT_THROW(other.load_state_dict(longer), Error);
  EXPECT_EQ(other.factor(), 16);
}

}  // namespace
}  // namespace hvd::optim
