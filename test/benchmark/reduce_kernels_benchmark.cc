// SPDX-License-Identifier: Apache-2.0
// Every ReduceKernel against memcpy:
//
//   reduce_kernels_benchmark --benchmark_filter='reduce/float32'
//   reduce_kernels_benchmark --benchmark_filter='pack'
//
// A name has the dtype and op, the number of inputs, and the memory read and
// written in total. 384 KiB fit the second-level cache together with memcpy's
// memory; 96 MiB fit no cache. "in place" writes the result to every input,
// like ranks that share their memory.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "test/benchmark/beside_memcpy.h"

namespace hvd::collective {
namespace {

struct Subject {
  std::string name;
  Reduction reduction;
  bool in_place = false;
};

void reduce(benchmark::State& state, const Subject& subject) {
  const auto ranks = static_cast<std::size_t>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1)) << 10;
  const std::size_t written = subject.in_place ? ranks : 1;
  const ReduceKernel kernel(subject.reduction, static_cast<int>(ranks));
  const auto count = static_cast<std::int64_t>(
      bytes / (ranks + written) / kernel.element_bytes() / 64 * 64);
  const std::size_t each =
      static_cast<std::size_t>(count) * kernel.element_bytes();
  // Zeros do not change, however often they are reduced.
  std::vector<std::vector<std::byte>> memory(ranks + 1,
                                             std::vector<std::byte>(each));
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (std::size_t r = 0; r < ranks; ++r) inputs.push_back(memory[r].data());
  for (std::size_t r = 0; r < written; ++r) {
    outputs.push_back(memory[subject.in_place ? r : ranks].data());
  }
  const auto work = [&] { kernel.reduce(inputs, outputs, count); };
  const std::size_t moved = (ranks + written) * each;
  measure_beside_memcpy(state, moved, work, Copied(moved / 2, 1, 1));
}

void measure(const Subject& subject) {
  benchmark::RegisterBenchmark(absl::StrCat("reduce/", subject.name).c_str(),
                               reduce, subject)
      ->ArgNames({"inputs", "KiB"})
      ->ArgsProduct({{2, 4}, {384, 96 << 10}})
      ->UseManualTime()
      ->MinTime(0.05);
}

void register_all() {
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax,
          ReduceOp::kProduct}) {
      const Reduction reduction = {.dtype = dtype, .op = op};
      if (!check(reduction).ok()) continue;
      measure({.name = absl::StrCat(name_of(dtype), "/", name_of(op)),
               .reduction = reduction});
    }
    if (!is_floating_point(dtype)) continue;
    const Subject in_place = {
        .name = absl::StrCat(name_of(dtype), "/average in place"),
        .reduction = {.dtype = dtype, .op = ReduceOp::kAverage},
        .in_place = true};
    Subject thirds = in_place;
    thirds.name += " by three";
    thirds.reduction.participants = 3;
    Subject scaled = in_place;
    scaled.name += " scaled";
    scaled.reduction.prescale = 0.5;
    scaled.reduction.postscale = 3;
    for (const Subject& s : {in_place, thirds, scaled}) {
      measure(s);
    }
  }
}

}  // namespace
}  // namespace hvd::collective

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  hvd::collective::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
