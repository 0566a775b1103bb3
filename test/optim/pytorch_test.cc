// SPDX-License-Identifier: Apache-2.0
// Optimizers and schedules compute the same as PyTorch's. From the same start
// and gradients, the tests compare the parameters after 1 and after 20 steps.
// The numbers are from test/fixtures/make_optim_fixtures.py.
#include <gtest/gtest.h>

#include <map>

#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/sgd.h"
#include "test/optim/torch_steps.h"

namespace hvd::optim {
namespace {

using torch_steps::Case;
using torch_steps::hold_rates_to_pytorch;
using torch_steps::hold_to_pytorch;
using torch_steps::make_case;

Case sgd(const std::string& name, const SGDOptions& options) {
  return make_case<SGD>(name, options);
}
Case adam(const std::string& name, const AdamOptions& options) {
  return make_case<Adam>(name, options);
}
Case adamw(const std::string& name, const AdamWOptions& options) {
  return make_case<AdamW>(name, options);
}

class PyTorchs : public testing::TestWithParam<Case> {};

TEST_P(PyTorchs, ParametersComeOutAfter1And20Steps) {
  hold_to_pytorch("optim.safetensors", GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    , PyTorchs,
    testing::Values(
        sgd("sgd", {.learning_rate = 0.1}),
        sgd("sgd_decay", {.learning_rate = 0.1, .weight_decay = 0.01}),
        sgd("sgd_momentum", {.learning_rate = 0.05, .momentum = 0.9}),
        sgd("sgd_dampening", {.learning_rate = 0.05,
                              .momentum = 0.9,
                              .dampening = 0.5,
                              .weight_decay = 0.01}),
        sgd("sgd_nesterov", {.learning_rate = 0.05,
                             .momentum = 0.9,
                             .weight_decay = 0.01,
                             .nesterov = true}),
        sgd("sgd_maximize",
            {.learning_rate = 0.05, .momentum = 0.9, .maximize = true}),
        adam("adam", {.learning_rate = 0.01}),
        adam("adam_decay", {.learning_rate = 0.01,
                            .beta1 = 0.8,
                            .beta2 = 0.95,
                            .eps = 1e-6,
                            .weight_decay = 0.1}),
        adam("adam_amsgrad", {.learning_rate = 0.01, .amsgrad = true}),
        adam("adam_maximize", {.learning_rate = 0.01, .maximize = true}),
        adamw("adamw", {.learning_rate = 0.01}),
        adamw("adamw_amsgrad",
              {.learning_rate = 0.01, .weight_decay = 0.1, .amsgrad = true}),
        adamw("adamw_maximize",
              {.learning_rate = 0.01, .weight_decay = 0.1, .maximize = true})),
    [](const auto& test) { return test.param.name; });

TEST(PyTorchsSchedules, GiveTheSameRates) {
  const std::map<std::string, Schedule> schedules = {
      {"step", step_lr({.step_size = 7, .gamma = 0.5})},
      {"multi_step", multi_step_lr({.milestones = {3, 10, 11}})},
      {"cosine", cosine_annealing_lr({.max_steps = 20, .min_rate = 0.001})},
      {"linear", linear_lr({.start_factor = 0.1, .total_steps = 8})},
      {"lambda", lambda_lr([](std::int64_t step) {
         return 1.0 / static_cast<double>(1 + step);
       })},
      {"sequential", sequential_lr({linear_lr({.start_factor = 0.1}),
                                    cosine_annealing_lr({.max_steps = 15})},
                                   {5})}};
  hold_rates_to_pytorch("schedules.safetensors", schedules);
}

}  // namespace
}  // namespace hvd::optim
