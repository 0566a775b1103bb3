// SPDX-License-Identifier: Apache-2.0
// The measurements of an autograd, written once: every contender is measured by
// the same code. A struct describes an autograd:
//
//   struct Mine {
//     using Tensor = ...;  // With + and * by a Tensor and by a double.
//     static Tensor one_element(double value, bool requires_grad);  // float32
//     static void backward(const Tensor& root, bool retain_graph);
//   };
//   measure_autograd<Mine>("mine");  // Before benchmark::Initialize.
//
// Tensors have one element, so the arithmetic is negligible. per_op is the cost
// of a call with and without recording, and of a node in backward.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

namespace hvd {

// Registers libtorch's measurements, and returns its version. Built without
// libtorch: registers none, and says so.
std::string measure_libtorch();

// Reports the time of one of the `operations` of an iteration.
inline void count(benchmark::State& state, std::int64_t operations = 1) {
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(state.iterations() * operations),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Repeats an operation on the same operands.
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

// Records a chain of operations once, and repeats backward.
template <typename Autograd, typename Operation>
void measure_backward(benchmark::State& state, Operation operation) {
  using Tensor = typename Autograd::Tensor;
  const Tensor x = Autograd::one_element(1.0, true);
  Tensor y = x;
  for (std::int64_t i = 0; i < state.range(0); ++i) y = operation(y);
  for (auto _ : state) Autograd::backward(y, true);
  count(state, state.range(0));
}

// A whole step: record, run backward, free.
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
