// SPDX-License-Identifier: Apache-2.0
// The cost of an event of a rank's trace.
#include <benchmark/benchmark.h>

#include <memory>

#include "horovodpp/core/trace/current.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/core/trace/span.h"

namespace hvd::trace {
namespace {

const std::shared_ptr<Recorder>& recorder() {
  static const auto shared = Recorder::open();
  return shared;
}

void an_event(benchmark::State& state) {
  Recorder& mine = *recorder();
  std::uint64_t value = 0;
  for (auto _ : state) {
    mine.write(EventKind::kSubmitted, {.name = 1, .value = ++value});
  }
}
BENCHMARK(an_event)->ThreadRange(1, 2);

void its_time(benchmark::State& state) {
  const Recorder& mine = *recorder();
  for (auto _ : state) benchmark::DoNotOptimize(mine.now());
}
BENCHMARK(its_time);

void a_known_name(benchmark::State& state) {
  Recorder& mine = *recorder();
  for (auto _ : state) {
    benchmark::DoNotOptimize(mine.name("allreduce", "layer1.0.conv1.weight"));
  }
}
BENCHMARK(a_known_name);

void a_span(benchmark::State& state) {
  const ThreadRecorder scope(recorder());
  for (auto _ : state) const Span span("backward");
}
BENCHMARK(a_span);

void a_span_of_the_process(benchmark::State& state) {
  set_of_process(recorder());
  for (auto _ : state) const Span span("backward");
  set_of_process(nullptr);
}
BENCHMARK(a_span_of_the_process);

void a_span_without_a_job(benchmark::State& state) {
  for (auto _ : state) const Span span("backward");
}
BENCHMARK(a_span_without_a_job);

}  // namespace
}  // namespace hvd::trace

BENCHMARK_MAIN();
