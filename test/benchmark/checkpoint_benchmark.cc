// SPDX-License-Identifier: Apache-2.0
// What a checkpointed region costs beside what its function computes. The
// function is a chain of operations on one number each, all of which save it:
//
//   checkpoint_benchmark
//   checkpoint_benchmark --benchmark_filter=forward
//
// The difference between region/n and plain/n is the bookkeeping of a region and
// of n saved tensors; that between both and "new_numbers" is what it costs to
// preserve the random numbers.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint.h"

namespace hvd {
namespace {

enum class Kind { kPlain, kRegion, kNewNumbers, kPolicy };

Tensor chain(const Tensor& x, std::int64_t length) {
  Tensor y = x;
  for (std::int64_t i = 0; i < length; ++i) y = relu(y);
  return y;
}

template <Kind kind>
Tensor run(const Tensor& x, std::int64_t length) {
  const auto f = [length](const Tensor& in) { return chain(in, length); };
  if constexpr (kind == Kind::kPlain) {
    return f(x);
  } else if constexpr (kind == Kind::kRegion) {
    return checkpoint(f, x);
  } else if constexpr (kind == Kind::kNewNumbers) {
    return checkpoint(f, x, CheckpointOptions{.preserve_rng_state = false});
  } else {
    static const CheckpointOptions kOptions{.policy = {"matmul"}};
    return checkpoint(f, x, kOptions);
  }
}

template <Kind kind>
void forward(benchmark::State& state) {
  const Tensor x = ones({1}, {.requires_grad = true});
  for (auto _ : state) {
    Tensor y = run<kind>(x, state.range(0));
    benchmark::DoNotOptimize(y);
  }
}

// The recomputation included, which runs the chain once more.
template <Kind kind>
void forward_and_backward(benchmark::State& state) {
  const Tensor x = ones({1}, {.requires_grad = true});
  for (auto _ : state) {
    run<kind>(x, state.range(0)).backward();
  }
}

constexpr std::int64_t kFew = 1, kMany = 101;

#define HVD_MEASURE(what)                                                     \
  BENCHMARK(what<Kind::kPlain>)->Name(#what "/plain")->Arg(kFew)->Arg(kMany); \
  BENCHMARK(what<Kind::kRegion>)                                              \
      ->Name(#what "/region")                                                 \
      ->Arg(kFew)                                                             \
      ->Arg(kMany);                                                           \
  BENCHMARK(what<Kind::kNewNumbers>)                                          \
      ->Name(#what "/new_numbers")                                            \
      ->Arg(kFew)                                                             \
      ->Arg(kMany);                                                           \
  BENCHMARK(what<Kind::kPolicy>)->Name(#what "/policy")->Arg(kFew)->Arg(kMany)

HVD_MEASURE(forward);
HVD_MEASURE(forward_and_backward);

}  // namespace
}  // namespace hvd

BENCHMARK_MAIN();
