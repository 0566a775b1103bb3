// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/samples.h"

#include <set>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "horovodpp/tensor/base/generator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

TEST(Multinomial, DrawsInProportionToTheWeights) {
  manual_seed(3);
  const Tensor weights = constant({1, 0, 3, 4}, {4});
  const auto counts = bincount(multinomial(weights, 8000, true), {}, 4)
                          .to_vector<std::int64_t>();
  EXPECT_NEAR(static_cast<double>(counts[0]), 1000, 120);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(static_cast<double>(counts[2]), 3000, 200);
}

TEST(Multinomial, DrawsEachCategoryOnceWithoutReplacement) {
  manual_seed(4);
  std::vector<int> first(3);
  for (int i = 0; i < 2000; ++i) {
    const auto found =
        multinomial(constant({1, 0, 3}, {3}), 2).to_vector<std::int64_t>();
    EXPECT_EQ(std::set<std::int64_t>(found.begin(), found.end()),
              (std::set<std::int64_t>{0, 2}));
    ++first[static_cast<std::size_t>(found[0])];
  }
  EXPECT_NEAR(first[0], 500, 100);
}

TEST(Multinomial, RepeatsItsDrawsFromTheSameState) {
  const Tensor weights = ones({3, 50});
  for (const bool replacement : {false, true}) {
    manual_seed(5);
    const auto once = multinomial(weights, 20, replacement);
    const auto next = multinomial(weights, 20, replacement);
    manual_seed(5);
    EXPECT_EQ(multinomial(weights, 20, replacement).to_vector<std::int64_t>(),
              once.to_vector<std::int64_t>());
    EXPECT_NE(next.to_vector<std::int64_t>(), once.to_vector<std::int64_t>());
    EXPECT_EQ(once.shape(), autograd::Dims({3, 20}));
  }
}

TEST(Multinomial, RefusesBadWeights) {
  EXPECT_ERROR(InvalidArgument, "-1", multinomial(constant({-1, 2}, {2}), 1));
  EXPECT_ERROR(InvalidArgument, "needed",
               multinomial(constant({0, 2}, {2}), 2));
  EXPECT_ERROR(InvalidArgument, "needed", multinomial(zeros({2}), 2, true));
  EXPECT_ERROR(InvalidArgument, "cannot draw 3", multinomial(ones({2}), 3));
  EXPECT_ERROR(InvalidArgument, "cannot draw 0", multinomial(ones({2}), 0));
  EXPECT_ERROR(InvalidArgument, "weights", multinomial(ones({}), 1));
  EXPECT_EQ(multinomial(ones({0, 2}), 1).shape(), autograd::Dims({0, 1}));
}

TEST(Bernoulli, DrawsWithTheProbabilityOfEachElement) {
  manual_seed(6);
  const Tensor p = full({4000}, 0.25).set_requires_grad(true);
  const Tensor drawn = bernoulli(p);
  EXPECT_NEAR(drawn.sum().item<float>(), 1000, 120);
  drawn.sum().backward();
  EXPECT_EQ(p.grad().to_vector<float>(), std::vector<float>(4000, 0.0f));
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    const Tensor sure = constant({0, 1, 1}, {3}).to(dtype);
    EXPECT_EQ(values(bernoulli(sure).to(DType::kF64)),
              std::vector<double>({0, 1, 1}));
  }
  EXPECT_ERROR(InvalidArgument, "1.5 is no probability",
               bernoulli(constant({1.5}, {1})));
}

}  // namespace
}  // namespace hvd
