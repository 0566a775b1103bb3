// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/weight_average.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/layers/norms.h"

namespace hvd::nn {
namespace {

TEST(WeightAverage, DecaysParametersAndCopiesBuffers) {
  BatchNorm2d model(1);
  WeightAverage average(model, 0.75);
  const auto averaged = [&](std::size_t i) {
    return average.state_dict()[i].tensor.item<float>();
  };
  {
    const NoGrad no_grad;
    model.weight().fill_(5);
    model.running_mean().fill_(3);
  }
  average.update();
  EXPECT_EQ(average.state_dict()[0].name, "weight");
  EXPECT_EQ(averaged(0), 0.75F + 0.25F * 5);
  EXPECT_EQ(averaged(2), 3.0F);  // running_mean
  average.swap();
  EXPECT_EQ(model.weight().item<float>(), 2.0F);
  EXPECT_EQ(averaged(0), 5.0F);
  EXPECT_THROW(average.update(), InvalidArgument);
  average.swap();
  EXPECT_EQ(model.weight().item<float>(), 5.0F);
  EXPECT_TRUE(model.weight().requires_grad());
}

TEST(WeightAverage, LoadsItsStateOrNothing) {
  BatchNorm2d model(1);
  WeightAverage source(model, 0.5);
  {
    const NoGrad no_grad;
    model.weight().fill_(5);
  }
  source.update();
  WeightAverage target(model, 0.5);
  StateDict state = source.state_dict();
  state.pop_back();
  EXPECT_THROW(target.load_state_dict(state), InvalidArgument);
  EXPECT_EQ(target.state_dict()[0].tensor.item<float>(), 5.0F);
  target.load_state_dict(source.state_dict());
  EXPECT_EQ(target.state_dict()[0].tensor.item<float>(), 3.0F);
  EXPECT_THROW(WeightAverage(model, 1.5), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
