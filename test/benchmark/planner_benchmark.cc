// SPDX-License-Identifier: Apache-2.0
// The time to plan a chain of stages within half of its bytes. Each stage has
// one or three ways to keep tensors.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "horovodpp/checkpoint/plans/plan.h"

namespace hvd {
namespace {

ChainCost random_chain(std::size_t stages, std::size_t options) {
  std::mt19937_64 random(stages);
  const auto bytes = [&] {
    return std::uniform_int_distribution<std::int64_t>(1, 64)(random) << 20;
  };
  const auto seconds = [&] {
    return std::uniform_real_distribution<double>(0.001, 0.02)(random);
  };
  ChainCost chain{.input_bytes = bytes(), .stages = {}};
  for (std::size_t i = 0; i < stages; ++i) {
    StageCost stage{.forward_seconds = seconds(),
                    .backward_seconds = seconds(),
                    .output_bytes = bytes(),
                    .options = {}};
    const std::int64_t inside = bytes();
    for (std::size_t o = 0; o < options; ++o) {
      const auto part = static_cast<std::int64_t>(o + 1);
      stage.options.push_back(
          {.bytes = stage.output_bytes + inside / part,
           .extra_seconds = static_cast<double>(o) * 0.001});
    }
    chain.stages.push_back(stage);
  }
  return chain;
}

void plan(::benchmark::State& state) {
  const ChainCost chain =
      random_chain(static_cast<std::size_t>(state.range(0)),
                   static_cast<std::size_t>(state.range(1)));
  const auto stages = static_cast<std::size_t>(state.range(0));
  const std::int64_t budget =
      cost_of(CheckpointPlan::keep_all(stages), chain).peak_bytes / 2;
  for (auto _ : state) {
    ::benchmark::DoNotOptimize(plan_checkpoints(chain, budget));
  }
}
BENCHMARK(plan)
    ->ArgNames({"stages", "ways"})
    ->ArgsProduct({{24, 54, 100, 200}, {1, 3}})
    ->Unit(::benchmark::kMillisecond);

}  // namespace
}  // namespace hvd

BENCHMARK_MAIN();
