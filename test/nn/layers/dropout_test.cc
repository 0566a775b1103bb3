// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/functions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "horovodpp/autograd.h"
#include "horovodpp/core/invalid_argument.h"

namespace hvd::nn {
namespace {

// Item 87 of the autograd contract.
TEST(Dropout, DropsWhileTrainingOnly) {
  manual_seed(4);
  Dropout module(0.25);
  const Tensor x = ones({10000});
  const auto y = module(x).to_vector<float>();
  const auto dropped = std::count(y.begin(), y.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped), 2500, 200);
  EXPECT_EQ(*std::max_element(y.begin(), y.end()), 1.0f / 0.75f);
  module.eval();
  EXPECT_EQ(module(x).to_vector<float>(), x.to_vector<float>());
  NoGrad no_grad;
  EXPECT_EQ(module(x).to_vector<float>(), x.to_vector<float>());
  module.train();
  EXPECT_NE(module(x).to_vector<float>(), x.to_vector<float>());
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  EXPECT_THROW(Dropout(1.5), InvalidArgument);
  EXPECT_THROW(Dropout(-0.1), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
