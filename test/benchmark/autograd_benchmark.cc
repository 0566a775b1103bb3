// What the autograd tower costs beside the arithmetic:
//
//   autograd_benchmark
//   autograd_benchmark --benchmark_filter=backward
//
// One element, so that there is nothing to compute: ns/op is the price of a call
// without and with recording, and of a node in backward. "plain_loop" is the same
// arithmetic on doubles.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "horovodpp/autograd/autograd.h"

namespace hvd {
namespace {

// Reports the time of one of the `operations` of an iteration.
void count(benchmark::State& state, std::int64_t operations = 1) {
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(state.iterations() * operations),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void plain_loop(benchmark::State& state) {
  double a = 1.5, b = 0.5;
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    benchmark::DoNotOptimize(b);
    double c = a * b;
    benchmark::DoNotOptimize(c);
  }
  count(state);
}
BENCHMARK(plain_loop);

void add_without_grad(benchmark::State& state) {
  const Tensor a = full({1}, 1.5), b = full({1}, 0.5);
  for (auto _ : state) {
    Tensor c = a + b;
    benchmark::DoNotOptimize(c);
  }
  count(state);
}
BENCHMARK(add_without_grad);

void mul_without_grad(benchmark::State& state) {
  const Tensor a = full({1}, 1.5), b = full({1}, 0.5);
  for (auto _ : state) {
    Tensor c = a * b;
    benchmark::DoNotOptimize(c);
  }
  count(state);
}
BENCHMARK(mul_without_grad);

void add_with_grad(benchmark::State& state) {
  const Tensor a = full({1}, 1.5, {.requires_grad = true});
  const Tensor b = full({1}, 0.5, {.requires_grad = true});
  const Tensor root = a + b;  // Keeps the leaves' nodes.
  for (auto _ : state) {
    Tensor c = a + b;
    benchmark::DoNotOptimize(c);
  }
  count(state);
}
BENCHMARK(add_with_grad);

// Saves both operands.
void mul_with_grad(benchmark::State& state) {
  const Tensor a = full({1}, 1.5, {.requires_grad = true});
  const Tensor b = full({1}, 0.5, {.requires_grad = true});
  const Tensor root = a + b;
  for (auto _ : state) {
    Tensor c = a * b;
    benchmark::DoNotOptimize(c);
  }
  count(state);
}
BENCHMARK(mul_with_grad);

// A chain of operations, run backward again and again.
template <typename Operation>
void backward_chain(benchmark::State& state, Operation operation) {
  const Tensor x = full({1}, 1.0, {.requires_grad = true});
  Tensor y = x;
  for (std::int64_t i = 0; i < state.range(0); ++i) y = operation(y);
  for (auto _ : state) y.backward({}, {.retain_graph = true});
  count(state, state.range(0));
}

void backward_add(benchmark::State& state) {
  backward_chain(state, [](const Tensor& y) { return y + 1.0; });
}
BENCHMARK(backward_add)->Arg(100)->Arg(10000);

// Multiplies a tensor in each node.
void backward_mul(benchmark::State& state) {
  backward_chain(state, [](const Tensor& y) { return y * 1.0; });
}
BENCHMARK(backward_mul)->Arg(100)->Arg(10000);

// All of it: recorded, run backward, freed.
void step(benchmark::State& state) {
  const Tensor x = full({1}, 1.0, {.requires_grad = true});
  for (auto _ : state) {
    Tensor y = x;
    for (std::int64_t i = 0; i < state.range(0); ++i) y = y * x;
    y.backward();
  }
  count(state, state.range(0));
}
BENCHMARK(step)->Arg(100)->Arg(10000);

}  // namespace
}  // namespace hvd

BENCHMARK_MAIN();
