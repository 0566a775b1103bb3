// SPDX-License-Identifier: Apache-2.0
// The overhead of autograd over the arithmetic, also for libtorch if that is
// installed:
//
//   autograd_benchmark
//   autograd_benchmark --benchmark_filter=backward
//
// "plain_loop" is the same arithmetic on doubles.
#include "test/benchmark/autograd_benchmark.h"

#include <benchmark/benchmark.h>

#include "horovodpp/autograd.h"

namespace hvd {
namespace {

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

struct Own {
  using Tensor = hvd::Tensor;
  static Tensor one_element(double value, bool requires_grad) {
    return full({1}, value, {.requires_grad = requires_grad});
  }
  static void backward(const Tensor& root, bool retain_graph) {
    root.backward({}, {.retain_graph = retain_graph});
  }
};

}  // namespace
}  // namespace hvd

int main(int argc, char** argv) {
  hvd::measure_autograd<hvd::Own>("horovodpp");
  benchmark::AddCustomContext("libtorch", hvd::measure_libtorch());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
