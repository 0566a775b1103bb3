// SPDX-License-Identifier: Apache-2.0
// Optimizers and schedules compute the same as PyTorch's. From the same start
// and gradients, the tests compare the parameters after 1 and after 20 steps.
// The numbers are from test/fixtures/make_optim_fixtures.py.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <ostream>

#include "horovodpp/autograd.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/sgd.h"

namespace hvd::optim {
namespace {

using Named = std::vector<nn::NamedTensor>;

std::map<std::string, Tensor> read(const std::string& name) {
  std::map<std::string, Tensor> result;
  const auto file = nn::load_safetensors(HVD_FIXTURES "/" + name);
  for (const auto& [key, tensor] : file.tensors) result[key] = tensor;
  return result;
}

// Element i is ((i a + b) mod 17 - 8) / 8, as in the script.
Tensor numbers(const autograd::Dims& shape, std::int64_t a, std::int64_t b) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    values.push_back(static_cast<double>((i * a + b) % 17 - 8) / 8);
  }
  return from_vector(values, shape);
}

struct Case {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(const Named&)> make;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

template <typename O, typename Options>
Case make_case(const std::string& name, Options options) {
  return {name, [options](const Named& parameters) {
            return std::make_unique<O>(parameters, options);
          }};
}
Case sgd(const std::string& name, const SGDOptions& options) {
  return make_case<SGD>(name, options);
}
Case adam(const std::string& name, const AdamOptions& options) {
  return make_case<Adam>(name, options);
}
Case adamw(const std::string& name, const AdamWOptions& options) {
  return make_case<AdamW>(name, options);
}

void expect_near(const Tensor& found, const Tensor& wanted, double relative,
                 const std::string& name) {
  ASSERT_EQ(found.shape(), wanted.shape());
  const auto f = found.to(DType::kF64).to_vector<double>();
  const auto w = wanted.to(DType::kF64).to_vector<double>();
  for (std::size_t i = 0; i < f.size(); ++i) {
    // Elements are about 1; one near 0 is a difference of such numbers.
    EXPECT_NEAR(f[i], w[i], relative * std::max(std::abs(w[i]), 0.1))
        << name << " at " << i;
  }
}

class PyTorchs : public testing::TestWithParam<Case> {};

TEST_P(PyTorchs, ParametersComeOutAfter1And20Steps) {
  const auto wanted = read("optim.safetensors");
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Named parameters = {
        {"w", numbers({3, 5}, 5, 3).to(dtype).set_requires_grad(true)},
        {"b", numbers({7}, 5, 3).to(dtype).set_requires_grad(true)}};
    const auto optimizer = GetParam().make(parameters);
    for (int step = 0; step < 20; ++step) {
      for (const auto& [name, parameter] : parameters) {
        parameter.set_grad(
            numbers(parameter.shape(), 7, step * 3 + 1).to(dtype));
      }
      optimizer->step();
      if (step != 0 && step != 19) continue;
      for (const auto& [name, parameter] : parameters) {
        const std::string key = GetParam().name + "." + name_of(dtype) + "." +
                                std::to_string(step + 1) + "." + name;
        ASSERT_TRUE(wanted.contains(key)) << key;
        expect_near(parameter, wanted.at(key),
                    dtype == DType::kF32 ? 1e-5 : 1e-12, key);
      }
    }
  }
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
  const auto wanted = read("schedules.safetensors");
  ASSERT_EQ(wanted.size(), schedules.size());
  for (const auto& [name, schedule] : schedules) {
    Tensor w = ones({1}, {.requires_grad = true});
    SGD optimizer(std::vector<Tensor>{w}, {.learning_rate = 0.3});
    LRScheduler scheduler(optimizer, schedule);
    for (const double rate : wanted.at(name).to_vector<double>()) {
      EXPECT_NEAR(optimizer.learning_rate(), rate, 1e-12)
          << name << " at " << scheduler.num_steps();
      scheduler.step();
    }
  }
}

}  // namespace
}  // namespace hvd::optim
