// SPDX-License-Identifier: Apache-2.0
// The overhead of a checkpointed region over the computation of its function.
// The function is a chain of operations on one number, each of which saves the
// number:
//
//   checkpoint_benchmark
//   checkpoint_benchmark --benchmark_filter=forward
//
// The difference between region/n and plain/n is the bookkeeping of a region
// and of n saved tensors; backward runs the function once more. "to_its_end"
// does not stop early, so that no exception is thrown. "new_numbers" does not
// preserve random numbers. "policy" searches for operations to keep, and finds
// none.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint.h"

namespace hvd {
namespace {

enum class Kind { kPlain, kRegion, kToItsEnd, kNewNumbers, kPolicy };

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
  } else if constexpr (kind == Kind::kToItsEnd) {
    return checkpoint(f, x, CheckpointOptions{.early_stop = false});
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

// Includes the recomputation, which runs the chain once more.
template <Kind kind>
void forward_and_backward(benchmark::State& state) {
  const Tensor x = ones({1}, {.requires_grad = true});
  for (auto _ : state) {
    run<kind>(x, state.range(0)).backward();
  }
}

constexpr std::int64_t kFew = 1, kMany = 101;

template <Kind kind>
void measure(const std::string& name) {
  struct Measured {
    const char* what;
    void (*function)(benchmark::State&);
  };
  for (const Measured& measured :
       {Measured{"forward/", forward<kind>},
        Measured{"forward_and_backward/", forward_and_backward<kind>}}) {
    benchmark::RegisterBenchmark((measured.what + name).c_str(),
                                 measured.function)
        ->Arg(kFew)
        ->Arg(kMany);
  }
}

}  // namespace
}  // namespace hvd

int main(int argc, char** argv) {
  using hvd::Kind;
  hvd::measure<Kind::kPlain>("plain");
  hvd::measure<Kind::kRegion>("region");
  hvd::measure<Kind::kToItsEnd>("to_its_end");
  hvd::measure<Kind::kNewNumbers>("new_numbers");
  hvd::measure<Kind::kPolicy>("policy");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
