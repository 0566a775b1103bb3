// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/lr_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/sgd.h"

namespace hvd::optim {
namespace {

using testing::ElementsAre;

// Two groups with their own rates.
struct Setting {
  Tensor a = ones({1}, {.requires_grad = true});
  Tensor b = ones({1}, {.requires_grad = true});
  SGD optimizer{std::vector<ParameterGroup<SGDOptions>>{
      {.parameters = {{"a", a}}, .options = {.learning_rate = 1}},
      {.parameters = {{"b", b}}, .options = {.learning_rate = 4}}}};
};

TEST(LRScheduler, SetsTheRatesOfAllGroups) {
  Setting s;
  LRScheduler scheduler(s.optimizer, step_lr({.gamma = 0.5}));
  EXPECT_THAT(s.optimizer.learning_rates(), ElementsAre(1, 4));
  scheduler.step();
  EXPECT_THAT(s.optimizer.learning_rates(), ElementsAre(0.5, 2));
}

TEST(LRScheduler, ContinuesExactlyFromItsState) {
  Setting first, second;
  const Schedule schedule =
      sequential_lr({linear_lr({.start_factor = 0.1, .total_steps = 3}),
                     cosine_annealing_lr({.max_steps = 9})},
                    {3});
  LRScheduler whole(first.optimizer, schedule);
  for (int i = 0; i < 5; ++i) whole.step();
  // The optimizer that resumes has the present rate, not the base.
  second.optimizer.load_state_dict(first.optimizer.state_dict());
  LRScheduler resumed(second.optimizer, schedule);
  resumed.load_state_dict(whole.state_dict());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(first.optimizer.learning_rates(),
              second.optimizer.learning_rates());
    whole.step();
    resumed.step();
  }
  EXPECT_EQ(resumed.num_steps(), whole.num_steps());
}

TEST(LRScheduler, RefusesAStateThatDoesNotFit) {
  Setting s;
  LRScheduler scheduler(s.optimizer, step_lr({}));
  const nn::StateDict state = scheduler.state_dict();
  EXPECT_THROW(scheduler.load_state_dict({}), InvalidArgument);
  EXPECT_THROW(scheduler.load_state_dict({state[0]}), InvalidArgument);
  nn::StateDict wrong = state;
  wrong.push_back({"more", ones({})});
  EXPECT_THROW(scheduler.load_state_dict(wrong), InvalidArgument);
  wrong = state;
  wrong[0].tensor = nn::count_tensor(-1);
  EXPECT_THROW(scheduler.load_state_dict(wrong), InvalidArgument);
  wrong = state;
  wrong[1].tensor = ones({1}, {.dtype = DType::kF64});
  EXPECT_THROW(scheduler.load_state_dict(wrong), InvalidArgument);
}

TEST(Schedules, RefuseInvalidOptions) {
  EXPECT_THROW(step_lr({.step_size = 0}), InvalidArgument);
  EXPECT_THROW(multi_step_lr({.milestones = {2, 1}}), InvalidArgument);
  EXPECT_THROW(cosine_annealing_lr({.max_steps = 0}), InvalidArgument);
  EXPECT_THROW(cosine_annealing_lr({.min_rate = -1}), InvalidArgument);
  EXPECT_THROW(linear_lr({.total_steps = 0}), InvalidArgument);
  EXPECT_THROW(linear_lr({.start_factor = -1}), InvalidArgument);
  EXPECT_THROW(lambda_lr(nullptr), InvalidArgument);
  EXPECT_THROW(sequential_lr({step_lr({})}, {1}), InvalidArgument);
  EXPECT_THROW(sequential_lr({step_lr({}), nullptr}, {1}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::optim
