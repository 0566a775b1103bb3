// SPDX-License-Identifier: Apache-2.0
// The rules and schedules of optim/rules compute the same as PyTorch's.
#include <string>

#include "horovodpp/optim/rules/adam_variants.h"
#include "horovodpp/optim/rules/muon.h"
#include "horovodpp/optim/rules/plateau.h"
#include "horovodpp/optim/rules/rmsprop.h"
#include "horovodpp/optim/rules/schedules.h"
#include "test/optim/torch_steps.h"

namespace hvd::optim {
namespace {

using torch_steps::Case;
using torch_steps::hold_rates_to_pytorch;
using torch_steps::hold_to_pytorch;
using torch_steps::make_case;

TEST(PyTorchsRules, MoveTheSameInEachStep) {
  const std::vector<Case> cases = {
      make_case<RMSprop>("rmsprop", RMSpropOptions{}),
      make_case<RMSprop>("rmsprop_all", RMSpropOptions{.alpha = 0.9,
                                                       .eps = 1e-4,
                                                       .weight_decay = 0.1,
                                                       .momentum = 0.9,
                                                       .centered = true,
                                                       .maximize = true}),
      make_case<Adadelta>("adadelta", AdadeltaOptions{}),
      make_case<Adadelta>("adadelta_all", AdadeltaOptions{.learning_rate = 0.5,
                                                          .rho = 0.8,
                                                          .eps = 1e-4,
                                                          .weight_decay = 0.1,
                                                          .maximize = true}),
      make_case<Adamax>("adamax", AdamaxOptions{}),
      make_case<Adamax>("adamax_all", AdamaxOptions{.learning_rate = 0.01,
                                                    .beta1 = 0.8,
                                                    .beta2 = 0.95,
                                                    .eps = 1e-4,
                                                    .weight_decay = 0.1,
                                                    .maximize = true}),
      make_case<NAdam>("nadam", NAdamOptions{}),
      make_case<NAdam>("nadam_decoupled",
                       NAdamOptions{.learning_rate = 0.01,
                                    .weight_decay = 0.1,
                                    .decoupled_weight_decay = true}),
      make_case<NAdam>("nadam_all", NAdamOptions{.learning_rate = 0.01,
                                                 .beta1 = 0.8,
                                                 .beta2 = 0.95,
                                                 .eps = 1e-4,
                                                 .weight_decay = 0.1,
                                                 .momentum_decay = 0.1,
                                                 .maximize = true}),
      make_case<RAdam>("radam", RAdamOptions{}),
      make_case<RAdam>("radam_decoupled",
                       RAdamOptions{.learning_rate = 0.01,
                                    .weight_decay = 0.1,
                                    .decoupled_weight_decay = true}),
      make_case<RAdam>("radam_all", RAdamOptions{.learning_rate = 0.01,
                                                 .beta1 = 0.8,
                                                 .beta2 = 0.95,
                                                 .eps = 1e-4,
                                                 .weight_decay = 0.1,
                                                 .maximize = true})};
  const std::size_t of_a_case = 2 * 2 * 2;  // Dtypes, steps, parameters.
  EXPECT_EQ(torch_steps::read("rules.safetensors").size(),
            cases.size() * of_a_case);
  for (const Case& c : cases) hold_to_pytorch("rules.safetensors", c);
}

TEST(PyTorchsMuon, MovesTheSameInEachStep) {
  const auto wanted = torch_steps::read("muon.safetensors");
  for (const auto& [name, shape] :
       {std::pair{"wide", Shape{3, 5}}, std::pair{"tall", Shape{6, 2}}}) {
    for (const bool match : {false, true}) {
      const Tensor w = torch_steps::numbers(shape, 5, 3)
                           .to(DType::kF32)
                           .set_requires_grad(true);
      Muon optimizer(std::vector<Tensor>{w},
                     {.learning_rate = 0.1, .match_adamw = match});
      for (int step = 0; step < 3; ++step) {
        w.set_grad(
            torch_steps::numbers(shape, 7, step * 3 + 1).to(DType::kF32));
        optimizer.step();
        const std::string key = std::string(name) +
                                (match ? ".match_rms_adamw." : ".original.") +
                                std::to_string(step + 1);
        const auto found = w.to_vector<float>();
        const auto expected = wanted.at(key).to_vector<float>();
        for (std::size_t i = 0; i < found.size(); ++i) {
          // The iteration enlarges rounding errors.
          EXPECT_NEAR(found[i], expected[i], 1e-5) << key << " at " << i;
        }
      }
    }
  }
}

TEST(PyTorchsMoreSchedules, GiveTheSameRates) {
  const OneCycleOptions cycle = {.max_rate = 0.5, .total_steps = 30};
  OneCycleOptions linear = cycle;
  linear.linear = true;
  linear.increasing_part = 0.45;
  OneCycleOptions three = cycle;
  three.three_phase = true;
  three.div_factor = 10;
  three.final_div_factor = 100;
  hold_rates_to_pytorch(
      "more_schedules.safetensors",
      {{"exponential", exponential_lr(0.9)},
       {"constant", constant_lr({.factor = 0.25, .total_steps = 4})},
       {"polynomial", polynomial_lr({.total_steps = 20, .power = 1.5})},
       {"warm_restarts",
        cosine_annealing_warm_restarts(
            {.first_period = 4, .period_factor = 2, .min_rate = 0.01})},
       {"warm_restarts_even",
        cosine_annealing_warm_restarts({.first_period = 7})},
       {"one_cycle", one_cycle_lr(cycle)},
       {"one_cycle_linear", one_cycle_lr(linear)},
       {"one_cycle_three", one_cycle_lr(three)},
       {"chained", chained_lr({constant_lr({.factor = 0.1, .total_steps = 5}),
                               exponential_lr(0.9)})}});
}

const std::vector<double> kMetrics = {5, 4, 3, 3.0001, 3, 3, 2.9999, 3,   3,
                                      3, 3, 1, 1,      1, 1, 1,      0.5, 1,
                                      1, 1, 1, 1,      1, 1, 1};

TEST(ReduceLROnPlateau, GivesPyTorchsRatesAlsoAfterALoad) {
  const auto wanted = torch_steps::read("more_schedules.safetensors");
  const std::map<std::string, PlateauOptions> cases = {
      {"plateau", {.patience = 2}},
      {"plateau_cooldown",
       {.factor = 0.5,
        .patience = 1,
        .threshold = 0.1,
        .relative = false,
        .cooldown = 2,
        .min_rate = 0.01}},
      {"plateau_max", {.maximize = true, .factor = 0.5, .patience = 3}}};
  for (const auto& [name, options] : cases) {
    SCOPED_TRACE(name);
    Tensor w = ones({1}, {.requires_grad = true});
    SGD optimizer(std::vector<Tensor>{w}, {.learning_rate = 0.3});
    const auto rates = wanted.at(name).to_vector<double>();
    nn::StateDict state = ReduceLROnPlateau(optimizer, options).state_dict();
    for (std::size_t i = 0; i < kMetrics.size(); ++i) {
      ReduceLROnPlateau scheduler(optimizer, options);
      scheduler.load_state_dict(state);
      scheduler.step(kMetrics[i]);
      state = scheduler.state_dict();
      EXPECT_NEAR(optimizer.learning_rate(), rates[i], 1e-12) << i;
    }
  }
}

}  // namespace
}  // namespace hvd::optim
