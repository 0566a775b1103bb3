// SPDX-License-Identifier: Apache-2.0
// What is measured of an autograd, written once: whoever is compared is measured
// by the same lines. An autograd is described by a struct:
//
//   struct Mine {
//     using Tensor = ...;  // With + and * by a Tensor and by a double.
//     static Tensor one_element(double value, bool requires_grad);  // float32
//     static void backward(const Tensor& root, bool retain_graph);
//   };
//   measure_autograd<Mine>("mine");  // Before benchmark::Initialize.
//
// One element, so that there is nothing to compute: per_op is the price of a call
// without and with recording, and of a node in backward.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

namespace hvd {

// Adds libtorch's measurements to those that will run; returns its version.
// Where this was built without libtorch: adds nothing and returns that.
std::string measure_libtorch();

// Reports the time of one of the `operations` of an iteration.
inline void count(benchmark::State& state, std::int64_t operations = 1) {
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(state.iterations() * operations),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The same operation on the same operands again and again.
template <typename Autograd, typename Operation>
void measure_operation(benchmark::State& state, bool requires_grad,
                       Operation operation) {
  using Tensor = typename Autograd::Tensor;
  const Tensor a = Autograd::one_element(1.5, requires_grad);
  const Tensor b = Autograd::one_element(0.5, requires_grad);
  const Tensor root = a + b;  // Keeps the leaves' nodes.
  for (auto _ : state) {
    Tensor c = operation(a, b);
    benchmark::DoNotOptimize(c);
  }
  count(state);
}

// A chain of operations, run backward again and again.
template <typename Autograd, typename Operation>
void measure_backward(benchmark::State& state, Operation operation) {
  using Tensor = typename Autograd::Tensor;
  const Tensor x = Autograd::one_element(1.0, true);
  Tensor y = x;
  for (std::int64_t i = 0; i < state.range(0); ++i) y = operation(y);
  for (auto _ : state) Autograd::backward(y, true);
  count(state, state.range(0));
}

// All of it: recorded, run backward, freed.
template <typename Autograd>
void measure_step(benchmark::State& state) {
  using Tensor = typename Autograd::Tensor;
  const Tensor x = Autograd::one_element(1.0, true);
  for (auto _ : state) {
    Tensor y = x;
    for (std::int64_t i = 0; i < state.range(0); ++i) y = y * x;
    Autograd::backward(y, false);
  }
  count(state, state.range(0));
}

template <typename Autograd>
void measure_autograd(const std::string& name) {
  using Tensor = typename Autograd::Tensor;
  using benchmark::State;
  const auto add = [name](const std::string& what, auto&& measurement) {
    return benchmark::RegisterBenchmark((name + "/" + what).c_str(),
                                        measurement);
  };
  const auto sum = [](const Tensor& a, const Tensor& b) { return a + b; };
  const auto product = [](const Tensor& a, const Tensor& b) { return a * b; };

  add("add_without_grad",
      [sum](State& state) { measure_operation<Autograd>(state, false, sum); });
  add("mul_without_grad", [product](State& state) {
    measure_operation<Autograd>(state, false, product);
  });
  add("add_with_grad",
      [sum](State& state) { measure_operation<Autograd>(state, true, sum); });
  // Saves both operands.
  add("mul_with_grad", [product](State& state) {
    measure_operation<Autograd>(state, true, product);
  });
  add("backward_add",
      [](State& state) {
        measure_backward<Autograd>(state,
                                   [](const Tensor& y) { return y + 1.0; });
      })
      ->Arg(100)
      ->Arg(10000);
  // Multiplies a tensor in each node.
  add("backward_mul",
      [](State& state) {
        measure_backward<Autograd>(state,
                                   [](const Tensor& y) { return y * 1.0; });
      })
      ->Arg(100)
      ->Arg(10000);
  add("step", measure_step<Autograd>)->Arg(100)->Arg(10000);
}

}  // namespace hvd
