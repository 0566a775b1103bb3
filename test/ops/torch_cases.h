// SPDX-License-Identifier: Apache-2.0
// Compares operations with the results of PyTorch in a file of test/fixtures.
// Inputs are uniform, as make_op_fixtures.py makes them. Results and gradients
// are compared relative to their largest element.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/autograd/near.h"
#include "test/models/same_numbers.h"

namespace hvd {

using X = const std::vector<Tensor>&;

struct TorchCase {
  std::vector<autograd::Dims> shapes;
  std::function<Tensor(X)> run;
  bool positive = false;
};
using TorchCases = std::map<std::string, TorchCase>;
using Fixture = std::map<std::string, Tensor>;

inline void hold_to_pytorch(const Fixture& fixture, const std::string& name,
                            const TorchCase& c, DType dtype, double tolerance) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < c.shapes.size(); ++i) {
    Tensor x = same_uniform(name + ".in" + std::to_string(i), c.shapes[i]);
    if (c.positive) x = abs(x) + 0.5;
    inputs.push_back(x.to(dtype).set_requires_grad(true));
  }
  const Tensor out = c.run(inputs);
  expect_near(out, fixture.at(name + ".out"), tolerance);
  out.backward(same_uniform(name + ".out", out.shape()).to(dtype));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string gradient = "grad" + std::to_string(i);
    // PyTorch gives some targets no gradient.
    if (!fixture.contains(name + "." + gradient)) continue;
    SCOPED_TRACE(gradient);
    ASSERT_TRUE(inputs[i].grad().defined());
    expect_near(inputs[i].grad(), fixture.at(name + "." + gradient), tolerance);
  }
}

// The names of the cases in a fixture.
inline std::set<std::string> names_in(const Fixture& fixture) {
  std::set<std::string> names;
  for (const auto& [key, tensor] : fixture) {
    names.insert(key.substr(0, key.rfind('.')));
  }
  return names;
}

// Runs all cases in float32 and float64, which must be those of the fixture.
inline void hold_all_to_pytorch(const Fixture& fixture, const TorchCases& all) {
  for (const std::string& name : names_in(fixture)) {
    EXPECT_TRUE(all.contains(name)) << name << " has no mirror here";
  }
  for (const auto& [name, c] : all) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(fixture.contains(name + ".out")) << "not in the fixture";
    hold_to_pytorch(fixture, name, c, DType::kF32, 1e-5);
    hold_to_pytorch(fixture, name, c, DType::kF64, 1e-12);
  }
}

}  // namespace hvd
