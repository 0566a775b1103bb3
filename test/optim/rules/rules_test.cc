// SPDX-License-Identifier: Apache-2.0
// The promises of every rule of optim/rules: dtypes, layouts, parts, state, and
// ranks that step together.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/rules/adam_variants.h"
#include "horovodpp/optim/rules/layerwise.h"
#include "horovodpp/optim/rules/muon.h"
#include "horovodpp/optim/rules/parameter_groups.h"
#include "horovodpp/optim/rules/plateau.h"
#include "horovodpp/optim/rules/rmsprop.h"
#include "horovodpp/optim/rules/sam.h"
#include "horovodpp/optim/rules/schedules.h"
#include "horovodpp/optim/sgd.h"
#include "test/runtime/world.h"

namespace hvd::optim {
namespace {

struct Rule {
  std::string name;
  std::function<std::unique_ptr<StatefulOptimizer>(
      const std::vector<nn::NamedTensor>&)>
      make;
};

template <typename O, typename Options>
Rule rule(const std::string& name, const Options& options) {
  return {name, [options](const std::vector<nn::NamedTensor>& parameters) {
            return std::make_unique<O>(parameters, options);
          }};
}

std::vector<Rule> element_rules() {
  return {rule<RMSprop>("RMSprop", RMSpropOptions{.learning_rate = 0.1,
                                                  .weight_decay = 0.1,
                                                  .momentum = 0.5,
                                                  .centered = true}),
          rule<Adadelta>("Adadelta", AdadeltaOptions{.weight_decay = 0.1}),
          rule<Adamax>("Adamax", AdamaxOptions{.learning_rate = 0.1}),
          rule<NAdam>("NAdam", NAdamOptions{.learning_rate = 0.1}),
          rule<RAdam>("RAdam", RAdamOptions{.learning_rate = 0.1}),
          rule<Lion>("Lion", LionOptions{.learning_rate = 0.1})};
}

std::vector<Rule> all_rules() {
  std::vector<Rule> all = element_rules();
  all.push_back(rule<LAMB>("LAMB", LAMBOptions{.learning_rate = 0.1}));
  all.push_back(rule<LARS>("LARS", LARSOptions{.trust = 0.1}));
  all.push_back(rule<Muon>("Muon", MuonOptions{.learning_rate = 0.1}));
  return all;
}

Tensor learnt(const Tensor& values) {
  return values.detach().clone().set_requires_grad(true);
}

std::vector<double> doubles(const Tensor& x) {
  return x.detach().to(DType::kF64).to_vector<double>();
}

TEST(EveryRule, MovesParametersOfAnyTypeSizeAndLayout) {
  for (const Rule& r : all_rules()) {
    SCOPED_TRACE(r.name);
    for (const DType dtype :
         {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      // The sign of a sum that rounds to 0 is chance.
      const double tolerance = dtype == DType::kF64   ? 1e-12
                               : r.name == "Lion"     ? 1.0
                               : dtype == DType::kF32 ? 1e-4
                                                      : 0.1;
      for (const std::int64_t n : {0, 1, 33}) {
        manual_seed(5);
        const Tensor start = randn({n, 2}, {.dtype = DType::kF64}).to(dtype);
        const Tensor exact = learnt(start.to(DType::kF64));
        const Tensor rows = learnt(start);
        Tensor columns = start.t().clone().t().detach();
        columns.set_requires_grad(true);
        Tensor gaps = zeros({n, 5}, {.dtype = dtype}).narrow(1, 1, 2).detach();
        gaps.copy_(start);
        gaps.set_requires_grad(true);
        const auto reference = r.make({{"w", exact}});
        const auto optimizer =
            r.make({{"rows", rows}, {"columns", columns}, {"gaps", gaps}});
        for (int step = 0; step < 7; ++step) {
          const Tensor gradient =
              randn({n, 2}, {.dtype = DType::kF64}).to(dtype);
          exact.set_grad(gradient.to(DType::kF64));
          for (const Tensor& p : {rows, columns, gaps}) p.set_grad(gradient);
          reference->step();
          optimizer->step();
        }
        for (const Tensor& p : {rows, columns, gaps}) {
          const auto found = doubles(p);
          for (std::size_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found[i], doubles(exact)[i], tolerance) << n;
          }
        }
      }
    }
  }
}

TEST(EveryRule, ContinuesFromItsStateWithTheSameBits) {
  for (const Rule& r : all_rules()) {
    SCOPED_TRACE(r.name);
    const Tensor a = learnt(arange(0, 6, 1, {.dtype = DType::kF32}))
                         .detach()
                         .reshape({2, 3})
                         .set_requires_grad(true);
    const auto first = r.make({{"w", a}});
    const auto step = [](StatefulOptimizer& optimizer, const Tensor& w, int i) {
      w.set_grad(arange(i, i + 6, 1, {.dtype = DType::kF32}).reshape({2, 3}) *
                     0.5 -
                 1.0);
      optimizer.step();
    };
    for (int i = 0; i < 3; ++i) step(*first, a, i);
    const Tensor b = learnt(a);
    const auto second = r.make({{"w", b}});
    second->load_state_dict(first->state_dict());
    for (int i = 3; i < 9; ++i) {
      step(*first, a, i);
      step(*second, b, i);
      ASSERT_EQ(a.to_vector<float>(), b.to_vector<float>()) << i;
    }
  }
}

TEST(EveryRule, LeavesParametersWithoutGradient) {
  for (const Rule& r : all_rules()) {
    const Tensor w = learnt(ones({2, 3}));
    const auto optimizer = r.make({{"w", w}});
    optimizer->step();
    EXPECT_TRUE(optimizer->state().empty()) << r.name;
    EXPECT_EQ(w.to_vector<float>(), std::vector<float>(6, 1.0F)) << r.name;
  }
}

TEST(EveryElementRule, MovesAPartToTheBitsOfTheWhole) {
  for (const Rule& r : element_rules()) {
    SCOPED_TRACE(r.name);
    const Tensor whole = learnt(arange(0, 7, 1, {.dtype = DType::kF32}));
    const Tensor parts = learnt(whole);
    const auto of_whole = r.make({{"w", whole}});
    const auto low = r.make({{"w", parts}});
    const auto high = r.make({{"w", parts}});
    ASSERT_TRUE(low->moves_parts());
    low->keep_parts({{0, 3}});
    high->keep_parts({{3, 7}});
    for (int i = 0; i < 6; ++i) {
      const Tensor gradient =
          arange(i, i + 7, 1, {.dtype = DType::kF32}) * 0.25 - 1.0;
      whole.set_grad(gradient);
      parts.set_grad(gradient);
      of_whole->step();
      low->step();
      high->step();
      ASSERT_EQ(whole.to_vector<float>(), parts.to_vector<float>());
    }
  }
}

// Two ranks with halves of a batch move like one with all of it.
TEST(EveryRule, StepsTogetherOnTwoRanks) {
  run_world({.size = 2}, [](Runtime& job, transport::LoopbackWorld&) {
    for (const Rule& r : all_rules()) {
      for (const bool shards : {false, true}) {
        const Tensor w = learnt(ones({3, 4}) * 0.5);
        const Tensor alone = learnt(w);
        auto own = r.make({{"w", w}});
        if (shards && !own->moves_parts()) continue;
        DistributedOptimizer optimizer(
            std::move(own), {.shard_updates = shards,
                             .name = r.name + (shards ? ".parts" : ""),
                             .runtime = &job});
        const auto one = r.make({{"w", alone}});
        for (int step = 0; step < 3; ++step) {
          const auto loss = [&](const Tensor& x, double rank) {
            const Tensor error = x - (rank + step);
            return (error * error).mean();
          };
          optimizer.zero_grad();
          one->zero_grad();
          loss(w, job.topology().rank()).backward();
          ((loss(alone, 0) + loss(alone, 1)) * 0.5).backward();
          optimizer.step();
          one->step();
          const auto found = doubles(w);
          for (std::size_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found[i], doubles(alone)[i], 1e-5) << r.name << shards;
          }
        }
      }
    }
  });
}

// The formulas of layerwise.h and adam_variants.h, in whole tensors.
TEST(Lamb, FollowsItsFormula) {
  const Tensor w = learnt(arange(1, 5, 1, {.dtype = DType::kF64}));
  LAMB optimizer({{"w", w}}, {.learning_rate = 0.1, .weight_decay = 0.2});
  Tensor p = w.detach().clone();
  Tensor m = zeros_like(p);
  Tensor v = zeros_like(p);
  for (int t = 1; t <= 4; ++t) {
    const Tensor g = p * 0.5 - t;
    w.set_grad(g);
    optimizer.step();
    m = m * 0.9 + g * 0.1;
    v = v * 0.999 + g * g * 0.001;
    const Tensor r =
        (m / full({}, 1 - std::pow(0.9, t), {.dtype = DType::kF64})) /
            (sqrt(v * (1 / (1 - std::pow(0.999, t)))) + 1e-6) +
        p * 0.2;
    const double trust =
        std::sqrt((p * p).sum().item<double>() / (r * r).sum().item<double>());
    p = p - r * (0.1 * trust);
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_NEAR(doubles(w)[i], doubles(p)[i], 1e-12);
    }
  }
}

TEST(Lars, FollowsItsFormula) {
  const Tensor w = learnt(arange(1, 5, 1, {.dtype = DType::kF64}));
  LARS optimizer({{"w", w}}, {.learning_rate = 0.5, .weight_decay = 0.2});
  Tensor p = w.detach().clone();
  Tensor b = zeros_like(p);
  const auto norm = [](const Tensor& x) {
    return std::sqrt((x * x).sum().item<double>());
  };
  for (int t = 1; t <= 4; ++t) {
    const Tensor g = p * 0.5 - t;
    w.set_grad(g);
    optimizer.step();
    const double trust = 1e-3 * norm(p) / (norm(g) + 0.2 * norm(p) + 1e-8);
    b = b * 0.9 + (g + p * 0.2) * trust;
    p = p - b * 0.5;
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_NEAR(doubles(w)[i], doubles(p)[i], 1e-12);
    }
  }
}

TEST(Lion, StepsByTheSignOfItsDirection) {
  const Tensor w = learnt(ones({3}));
  Lion optimizer({{"w", w}}, {.learning_rate = 0.25, .weight_decay = 1.0});
  w.set_grad(from_vector<float>({2, -1, 0}, {3}));
  optimizer.step();
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{0.5F, 1.0F, 0.75F}));
  // m = 0.01 g stays below the new gradient.
  w.set_grad(from_vector<float>({-1, -1, 0}, {3}));
  optimizer.step();
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{0.625F, 1.0F, 0.5625F}));
}

TEST(EveryRule, RefusesInvalidOptions) {
  const Tensor w = learnt(ones({2, 2}));
  const std::vector<Tensor> one{w};
  EXPECT_THROW(RMSprop(one, {.alpha = -1}), InvalidArgument);
  EXPECT_THROW(Adadelta(one, {.rho = 1.5}), InvalidArgument);
  EXPECT_THROW(Adamax(one, {.beta1 = 1}), InvalidArgument);
  EXPECT_THROW(NAdam(one, {.momentum_decay = -1}), InvalidArgument);
  EXPECT_THROW(RAdam(one, {.eps = NAN}), InvalidArgument);
  EXPECT_THROW(Lion(one, {.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(LAMB(one, {.weight_decay = -1}), InvalidArgument);
  EXPECT_THROW(LARS(one, {.trust = -1}), InvalidArgument);
  EXPECT_THROW(Muon(one, {.iterations = 2.5}), InvalidArgument);
  EXPECT_THROW(Muon(std::vector<Tensor>{learnt(ones({2}))}), InvalidArgument);
}

TEST(SharpnessAware, StepsAlongTheGradientUpTheSlope) {
  const Tensor w = learnt(from_vector<double>({3, 4}, {2}));
  SAM optimizer(std::make_unique<SGD>(std::vector<Tensor>{w},
                                      SGDOptions{.learning_rate = 0.1}),
                {.rho = 0.5});
  const auto backward = [&] { ((w * w).sum() * 0.5).backward(); };
  backward();
  optimizer.ascend();  // The gradient is w, of norm 5.
  EXPECT_FALSE(w.grad().defined());
  EXPECT_NEAR(doubles(w)[0], 3.3, 1e-9);
  EXPECT_NEAR(doubles(w)[1], 4.4, 1e-9);
  EXPECT_THROW(optimizer.ascend(), InvalidArgument);
  backward();
  optimizer.step();
  EXPECT_NEAR(doubles(w)[0], 3 - 0.33, 1e-9);
  EXPECT_NEAR(doubles(w)[1], 4 - 0.44, 1e-9);
}

TEST(SharpnessAware, AscendsToOnePointOnAllRanks) {
  run_world({.size = 2}, [](Runtime& job, transport::LoopbackWorld&) {
    const Tensor w = learnt(from_vector<double>({3, 4}, {2}));
    SAM optimizer(
        std::make_unique<DistributedOptimizer>(
            std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", w}},
                                  SGDOptions{.learning_rate = 0.1}),
            DistributedOptions{.name = "sam", .runtime = &job}),
        {.rho = 0.5, .adaptive = false});
    const double share = job.topology().rank() == 0 ? 1.5 : 0.5;
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      const double before = doubles(w)[0];
      ((w * w).sum() * 0.5 * share).backward();
      optimizer.ascend();
      EXPECT_NEAR(doubles(w)[0], before + 0.3, 1e-9);
      ((w * w).sum() * 0.5 * share).backward();
      optimizer.step();
      EXPECT_NEAR(doubles(w)[0], before - 0.1 * (before + 0.3), 1e-9);
    }
  });
}

TEST(ParameterGroups, BelongToTheFirstPatternThatMatches) {
  EXPECT_TRUE(name_matches("*.bias", "block.0.bias"));
  EXPECT_FALSE(name_matches("*.bias", "bias"));
  EXPECT_TRUE(name_matches("*norm*", "a.norm1.weight"));
  EXPECT_TRUE(name_matches("a*b*c", "a1b2b3c"));
  EXPECT_FALSE(name_matches("a*b*c", "a1c"));
  EXPECT_TRUE(name_matches("", ""));
  const Tensor w = learnt(ones({1}));
  const Tensor b = learnt(ones({1}));
  const Tensor n = learnt(ones({1}));
  const std::vector<nn::NamedTensor> all = {
      {"fc.weight", w}, {"fc.bias", b}, {"norm.bias", n}};
  const auto groups = grouped_by_name<SGDOptions>(
      all, {{"norm.*", {.learning_rate = 1}}, {"*.bias", {.learning_rate = 2}}},
      {.learning_rate = 3});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_TRUE(groups[0].parameters[0].tensor.is_same(n));
  EXPECT_TRUE(groups[1].parameters[0].tensor.is_same(b));
  EXPECT_TRUE(groups[2].parameters[0].tensor.is_same(w));
  EXPECT_EQ(SGD(groups).learning_rates(), (std::vector<double>{1, 2, 3}));
  EXPECT_THROW(grouped_by_name<SGDOptions>(all, {{"nrom.*", {}}}),
               InvalidArgument);
}

TEST(MoreSchedules, RefuseOptionsThatMakeNoSense) {
  EXPECT_THROW(exponential_lr(-1), InvalidArgument);
  EXPECT_THROW(constant_lr({.factor = -1}), InvalidArgument);
  EXPECT_THROW(polynomial_lr({.total_steps = 0}), InvalidArgument);
  EXPECT_THROW(cosine_annealing_warm_restarts({.first_period = 0}),
               InvalidArgument);
  EXPECT_THROW(one_cycle_lr({.increasing_part = 2}), InvalidArgument);
  EXPECT_THROW(one_cycle_lr({.total_steps = 3})(0.1, 4), InvalidArgument);
  EXPECT_THROW(chained_lr({}), InvalidArgument);
  const Tensor w = learnt(ones({1}));
  SGD optimizer(std::vector<Tensor>{w});
  EXPECT_THROW(ReduceLROnPlateau(optimizer, {.factor = 1.0}), InvalidArgument);
  ReduceLROnPlateau scheduler(optimizer);
  nn::StateDict state = scheduler.state_dict();
  state[1].tensor = nn::count_tensor(-1);
  EXPECT_THROW(scheduler.load_state_dict(state), InvalidArgument);
  state.pop_back();
  EXPECT_THROW(scheduler.load_state_dict(state), InvalidArgument);
}

}  // namespace
}  // namespace hvd::optim
