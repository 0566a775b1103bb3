// SPDX-License-Identifier: Apache-2.0
// Compares optimizers and schedules with PyTorch's: from the same start and
// gradients, the parameters after 1 and after 20 steps. The numbers are from
// test/fixtures/make_optim_fixtures.py.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/optim/sgd.h"

namespace hvd::optim::torch_steps {

using Named = std::vector<nn::NamedTensor>;

inline std::map<std::string, Tensor> read(const std::string& name) {
  std::map<std::string, Tensor> result;
  const auto file = nn::load_safetensors(HVD_FIXTURES "/" + name);
  for (const auto& [key, tensor] : file.tensors) result[key] = tensor;
  return result;
}

// Element i is ((i a + b) mod 17 - 8) / 8, as in the script.
inline Tensor numbers(const autograd::Dims& shape, std::int64_t a,
                      std::int64_t b) {
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
inline void expect_elements_near(const Tensor& found, const Tensor& wanted,
                                 double relative, const std::string& name) {
  ASSERT_EQ(found.shape(), wanted.shape());
  const auto f = found.to(DType::kF64).to_vector<double>();
  const auto w = wanted.to(DType::kF64).to_vector<double>();
  for (std::size_t i = 0; i < f.size(); ++i) {
    // Elements are about 1; one near 0 is a difference of such numbers.
    EXPECT_NEAR(f[i], w[i], relative * std::max(std::abs(w[i]), 0.1))
        << name << " at " << i;
  }
}

inline void hold_to_pytorch(const std::string& file, const Case& c) {
  const auto wanted = read(file);
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Named parameters = {
        {"w", numbers({3, 5}, 5, 3).to(dtype).set_requires_grad(true)},
        {"b", numbers({7}, 5, 3).to(dtype).set_requires_grad(true)}};
    const auto optimizer = c.make(parameters);
    for (int step = 0; step < 20; ++step) {
      for (const auto& [name, parameter] : parameters) {
        parameter.set_grad(
            numbers(parameter.shape(), 7, step * 3 + 1).to(dtype));
      }
      optimizer->step();
      if (step != 0 && step != 19) continue;
      for (const auto& [name, parameter] : parameters) {
        const std::string key = c.name + "." + name_of(dtype) + "." +
                                std::to_string(step + 1) + "." + name;
        ASSERT_TRUE(wanted.contains(key)) << key;
        expect_elements_near(parameter, wanted.at(key),
                             dtype == DType::kF32 ? 1e-5 : 1e-12, key);
      }
    }
  }
}

inline void hold_rates_to_pytorch(
    const std::string& file, const std::map<std::string, Schedule>& schedules) {
  const auto wanted = read(file);
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

}  // namespace hvd::optim::torch_steps
