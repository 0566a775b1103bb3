// SPDX-License-Identifier: Apache-2.0
// The losses of ops/losses for every layout, dtype and size, under autocast and
// in checkpointed regions.
#include <cmath>
#include <limits>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "horovodpp/ops/losses/ctc_loss.h"
#include "horovodpp/ops/losses/elementwise_losses.h"
#include "horovodpp/ops/losses/margin_losses.h"
#include "test/autograd/grid.h"
#include "test/autograd/near.h"

namespace hvd {
namespace {

using autograd::Dims;

struct LossCase {
  std::string name;
  std::vector<Dims> shapes;
  std::function<Tensor(const Inputs&, Reduction)> loss;
};

Tensor alternating(const Tensor& like) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < like.num_elements(); ++i) {
    values.push_back(i % 3 == 0 ? 1.0 : -1.0);
  }
  return from_vector(values, like.shape()).to(like.dtype());
}

Tensor first_classes(const Tensor& x) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    values.push_back(i % std::max<std::int64_t>(x.size(1), 1));
  }
  return from_vector(values, {x.size(0)});
}

// Two targets in each row.
Tensor first_sets(const Tensor& x) {
  Tensor result = full(x.shape(), -1, {.dtype = DType::kI64});
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    result.data<std::int64_t>()[i * x.size(1)] = 2;
    result.data<std::int64_t>()[i * x.size(1) + 1] = 0;
  }
  return result;
}

const std::vector<LossCase>& cases_of_losses() {
  using R = Reduction;
  using In = const Inputs&;
  const std::vector<Dims> one = {{2, 3}};
  const std::vector<Dims> two = {{2, 3}, {2, 3}};
  static const std::vector<LossCase> all = {
      {"l1", two, [](In x, R r) { return l1_loss(x[0], x[1], r); }},
      {"huber", two,
       [](In x, R r) {
         return huber_loss(x[0], x[1], {.delta = 0.5, .reduction = r});
       }},
      {"smooth_l1", two,
       [](In x, R r) {
         return smooth_l1_loss(x[0], x[1], {.beta = 0.5, .reduction = r});
       }},
      {"bce", two,
       [](In x, R r) {
         return binary_cross_entropy(sigmoid(x[0]), sigmoid(x[1]),
                                     {.reduction = r});
       }},
      {"bce_logits", two,
       [](In x, R r) {
         return binary_cross_entropy_with_logits(
             x[0], x[1],
             {.pos_weight = full({}, 2.0, {.dtype = x[0].dtype()}),
              .reduction = r});
       }},
      {"kl_div", two,
       [](In x, R r) { return kl_div(x[0], sigmoid(x[1]), {.reduction = r}); }},
      {"poisson", two,
       [](In x, R r) {
         return poisson_nll_loss(x[0], exp(x[1]) * 3.0,
                                 {.full = true, .reduction = r});
       }},
      {"gaussian",
       {{2, 3}, {2, 3}, {2, 3}},
       [](In x, R r) {
         return gaussian_nll_loss(x[0], x[1], x[2] * x[2] + 0.5,
                                  {.reduction = r});
       }},
      {"soft_margin", one,
       [](In x, R r) { return soft_margin_loss(x[0], alternating(x[0]), r); }},
      {"margin_ranking", two,
       [](In x, R r) {
         return margin_ranking_loss(x[0], x[1], alternating(x[0]),
                                    {.margin = 0.3, .reduction = r});
       }},
      {"hinge_embedding", one,
       [](In x, R r) {
         return hinge_embedding_loss(x[0], alternating(x[0]),
                                     {.margin = 1.0, .reduction = r});
       }},
      {"cosine_embedding", two,
       [](In x, R r) {
         const Tensor target =
             alternating(zeros({x[0].size(0)})).to(x[0].dtype());
         return cosine_embedding_loss(x[0], x[1] + 0.1, target,
                                      {.margin = -0.9, .reduction = r});
       }},
      {"triplet",
       {{2, 3}, {2, 3}, {2, 3}},
       [](In x, R r) {
         return triplet_margin_loss(
             x[0], x[1], x[2], {.margin = 2.0, .swap = true, .reduction = r});
       }},
      {"multi_margin", one,
       [](In x, R r) {
         return multi_margin_loss(x[0], first_classes(x[0]),
                                  {.p = 2, .margin = 0.9, .reduction = r});
       }},
      {"multilabel_margin", one,
       [](In x, R r) {
         return multilabel_margin_loss(x[0], first_sets(x[0]), r);
       }},
      {"multilabel_soft_margin", two,
       [](In x, R r) {
         return multilabel_soft_margin_loss(x[0], x[1], {.reduction = r});
       }},
      {"ctc",
       {{5, 2, 3}},
       [](In x, R r) {
         const Tensor labels = from_vector<std::int64_t>({1, 1, 2, 1}, {2, 2});
         return ctc_loss(log_softmax(x[0], 2), labels, {5, 4}, {2, 2},
                         {.reduction = r});
       }},
  };
  return all;
}

Inputs random_inputs(const LossCase& c) {
  manual_seed(3);
  Inputs result;
  for (const Dims& shape : c.shapes) {
    result.push_back(randn(shape, {.dtype = DType::kF64}));
  }
  return result;
}

Inputs leaves_of(const Inputs& x, DType dtype) {
  Inputs result;
  for (const Tensor& t : x) {
    result.push_back(t.to(dtype).clone().set_requires_grad(true));
  }
  return result;
}

TEST(EveryLoss, HasFirstAndSecondDerivatives) {
  for (const LossCase& c : cases_of_losses()) {
    SCOPED_TRACE(c.name);
    for (const Reduction reduction : {Reduction::kNone, Reduction::kMean}) {
      // Equal rows are at a corner of some losses.
      check_grid([&](const Inputs& x) { return c.loss(x, reduction); },
                 c.shapes, {.repeated = false});
    }
  }
}

TEST(EveryLoss, ComputesSixteenBitsInFloat32AndRoundsOnce) {
  for (const LossCase& c : cases_of_losses()) {
    SCOPED_TRACE(c.name);
    for (const auto& [dtype, unit] :
         {std::pair{DType::kBF16, 8e-3}, std::pair{DType::kF16, 1e-3}}) {
      const Inputs half = leaves_of(random_inputs(c), dtype);
      const Inputs wide = leaves_of(half, DType::kF64);
      const Tensor found = c.loss(half, Reduction::kSum);
      EXPECT_EQ(found.dtype(), dtype);
      // The functions that prepare the operands round, too.
      expect_near(found, c.loss(wide, Reduction::kSum), 6 * unit);
      found.backward();
      EXPECT_EQ(half[0].grad().dtype(), dtype);
    }
  }
}

TEST(EveryLoss, ComputesInFloat32UnderAutocast) {
  for (const LossCase& c : cases_of_losses()) {
    SCOPED_TRACE(c.name);
    const Inputs half = leaves_of(random_inputs(c), DType::kBF16);
    const Autocast autocast(DType::kBF16);
    EXPECT_EQ(c.loss(half, Reduction::kMean).dtype(), DType::kF32);
  }
}

TEST(EveryLoss, HasTheSameGradientsWhenRecomputed) {
  for (const LossCase& c : cases_of_losses()) {
    SCOPED_TRACE(c.name);
    const Inputs plain = leaves_of(random_inputs(c), DType::kF32);
    const Inputs kept = leaves_of(random_inputs(c), DType::kF32);
    c.loss(plain, Reduction::kMean).backward();
    const auto region = [&](const Inputs& x) {
      return std::vector{c.loss(x, Reduction::kMean)};
    };
    checkpoint(region, kept)[0].backward();
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(kept[i].grad().to_vector<float>(),
                plain[i].grad().to_vector<float>());
    }
  }
}

TEST(EveryLoss, OfNoRowsIsEmptyOrNan) {
  for (const LossCase& c : cases_of_losses()) {
    if (c.name == "ctc") continue;
    SCOPED_TRACE(c.name);
    Inputs x;
    for (std::size_t i = 0; i < c.shapes.size(); ++i) {
      x.push_back(zeros({0, 3}, {.requires_grad = true}));
    }
    EXPECT_EQ(c.loss(x, Reduction::kNone).num_elements(), 0);
    EXPECT_EQ(c.loss(x, Reduction::kSum).item<float>(), 0.0F);
    const Tensor mean = c.loss(x, Reduction::kMean);
    EXPECT_TRUE(std::isnan(mean.item<float>()));
    mean.backward();
    EXPECT_EQ(x[0].grad().shape(), Shape({0, 3}));
  }
}

TEST(EveryLoss, RefusesIntegersAndMixedDtypes) {
  const Tensor x = randn({2, 3});
  EXPECT_THROW(l1_loss(x.to(DType::kI64), x), InvalidArgument);
  EXPECT_THROW(huber_loss(x, x.to(DType::kF64)), InvalidArgument);
  EXPECT_THROW(huber_loss(x, x, {.delta = 0.0}), InvalidArgument);
  EXPECT_THROW(smooth_l1_loss(x, x, {.beta = -1.0}), InvalidArgument);
  EXPECT_THROW(binary_cross_entropy(x * 0.0 + 1.5, x), InvalidArgument);
  EXPECT_THROW(binary_cross_entropy_with_logits(x, x.t()), InvalidArgument);
  EXPECT_THROW(gaussian_nll_loss(x, x, x * 0.0 - 1.0), InvalidArgument);
  EXPECT_THROW(gaussian_nll_loss(x, x, ones({3, 2})), InvalidArgument);
  EXPECT_THROW(cosine_embedding_loss(x, x, ones({2, 3})), InvalidArgument);
  EXPECT_THROW(triplet_margin_loss(x, x, x, {.margin = -1.0}), InvalidArgument);
  EXPECT_THROW(triplet_margin_loss(x, x, x, {.margin = 0.0}), InvalidArgument);
  EXPECT_THROW(multi_margin_loss(x, first_classes(x), {.p = 3}),
               InvalidArgument);
  EXPECT_THROW(multi_margin_loss(x, first_classes(x) + 3.0), InvalidArgument);
  EXPECT_THROW(multilabel_margin_loss(x, first_sets(x) + 2.0), InvalidArgument);
  EXPECT_THROW(l1_loss(Tensor(), x), InvalidArgument);
}

TEST(BinaryCrossEntropy, HasFiniteGradientsAtZeroAndOne) {
  const Tensor x = constant({0.0, 1.0}, {2}).set_requires_grad(true);
  const Tensor loss = binary_cross_entropy(x, constant({1.0, 1.0}, {2}),
                                           {.reduction = Reduction::kNone});
  EXPECT_EQ(values(loss), (std::vector<double>{100.0, 0.0}));
  loss.sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{-1e12, 0.0}));
}

TEST(BceWithLogits, DoesNotOverflow) {
  const Tensor x =
      constant({1000.0, -1000.0, 0.0}, {3}).set_requires_grad(true);
  const Tensor loss = binary_cross_entropy_with_logits(
      x, constant({0.0, 0.0, 0.0}, {3}), {.reduction = Reduction::kSum});
  EXPECT_DOUBLE_EQ(loss.item<double>(), 1000.0 + std::log(2.0));
  loss.backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{1.0, 0.0, 0.5}));
}

TEST(Ctc, OfAnImpossibleSequenceIsInfiniteOrZero) {
  const Tensor x = log_softmax(zeros({2, 1, 3}), 2).detach();
  const Tensor labels = from_vector<std::int64_t>({1, 1}, {1, 2});
  EXPECT_EQ(ctc_loss(x, labels, {2}, {2}).item<float>(),
            std::numeric_limits<float>::infinity());
  const Tensor leaf = x.clone().set_requires_grad(true);
  const Tensor loss = ctc_loss(leaf, labels, {2}, {2}, {.zero_infinity = true});
  EXPECT_EQ(loss.item<float>(), 0.0F);
  loss.backward();
  EXPECT_EQ(leaf.grad().to(DType::kF64).to_vector<double>(),
            std::vector<double>(6, 0.0));
}

TEST(Ctc, OfNoStepsWantsNoLabels) {
  const Tensor x = zeros({2, 2, 3});
  const Tensor labels = from_vector<std::int64_t>({1, 1}, {2, 1});
  const Tensor losses =
      ctc_loss(x, labels, {0, 0}, {0, 1}, {.reduction = Reduction::kNone});
  EXPECT_EQ(losses.to_vector<float>(),
            (std::vector<float>{0.0F, std::numeric_limits<float>::infinity()}));
}

TEST(Ctc, RefusesLengthsAndLabelsThatDoNotFit) {
  const Tensor x = zeros({4, 2, 3});
  const Tensor labels = from_vector<std::int64_t>({1, 1}, {2, 1});
  EXPECT_THROW(ctc_loss(x, labels, {4}, {1, 1}), InvalidArgument);
  EXPECT_THROW(ctc_loss(x, labels, {4, 5}, {1, 1}), InvalidArgument);
  EXPECT_THROW(ctc_loss(x, labels, {4, -1}, {1, 1}), InvalidArgument);
  EXPECT_THROW(ctc_loss(x, labels, {4, 4}, {1, 2}), InvalidArgument);
  EXPECT_THROW(ctc_loss(x, labels, {4, 4}, {1, 1}, {.blank = 3}),
               InvalidArgument);
  EXPECT_THROW(ctc_loss(x, labels, {4, 4}, {1, 1}, {.blank = 1}),
               InvalidArgument);
  EXPECT_THROW(ctc_loss(x, labels.reshape({2}), {4, 4}, {2, 1}),
               InvalidArgument);
  EXPECT_THROW(ctc_loss(x, labels.to(DType::kF32), {4, 4}, {1, 1}),
               InvalidArgument);
}

}  // namespace
}  // namespace hvd
