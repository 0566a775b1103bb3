// SPDX-License-Identifier: Apache-2.0
// The cost of an event of a rank's trace, and of its readers.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>

#include "horovodpp/core/trace/current.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/telemetry/metrics/metrics_reader.h"
#include "horovodpp/telemetry/steps/step_watch.h"
#include "horovodpp/telemetry/timeline/timeline.h"
#include "horovodpp/telemetry/trace/trace_follower.h"

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

// Steps of ten operations, each in a batch of its own. An iteration is an event,
// written and read.
void write_step(Recorder& mine, std::uint32_t first_name, std::uint16_t plane) {
  for (std::uint32_t i = 0; i < 10; ++i) {
    const std::uint32_t name = first_name + i;
    mine.write(EventKind::kSubmitted, {.name = name, .value = 4096});
    mine.write(EventKind::kBatchBegins, {.value = pack(1, i)});
    mine.write(EventKind::kBatchEntry, {.name = name, .value = 4096});
    mine.write(EventKind::kCallBegins, {.label = plane, .value = 4096});
    mine.write(EventKind::kCallEnds, {});
    mine.write(EventKind::kBatchEnds, {.value = pack(1, i)});
  }
  mine.write(EventKind::kStepEnds, {});
}

constexpr int kEventsOfAStep = 61;

void follow(benchmark::State& state, telemetry::TraceFollower& follower,
            Recorder& mine) {
  std::uint32_t first = 0;
  for (int i = 0; i < 10; ++i) {
    const std::uint32_t name = mine.name("allreduce", std::to_string(i));
    if (i == 0) first = name;
  }
  const std::uint16_t plane = mine.label("shm");
  while (state.KeepRunningBatch(20 * kEventsOfAStep)) {
    for (int i = 0; i < 20; ++i) write_step(mine, first, plane);
    follower.flush();
  }
}

void a_followed_event(benchmark::State& state) {
  const auto mine = Recorder::open();
  const auto follower = std::make_shared<telemetry::TraceFollower>(mine);
  const std::int64_t readers = state.range(0);
  const auto watch = telemetry::StepWatch::start(
      follower, {.describe = [](int) { return std::string(); },
                 .send = [](const std::string&) {}});
  const auto metrics = readers > 1
                           ? telemetry::MetricsReader::start(follower, {})
                           : std::unique_ptr<telemetry::MetricsReader>();
  const auto timeline =
      readers > 2 ? telemetry::Timeline::start(follower, {.path = "/dev/null"})
                  : std::unique_ptr<telemetry::Timeline>();
  if (!watch.ok() || !metrics.ok() || !timeline.ok()) {
    return state.SkipWithError("a reader cannot be started");
  }
  follow(state, *follower, *mine);
}
// Summaries; with metrics; with the timeline.
BENCHMARK(a_followed_event)->DenseRange(1, 3)->MeasureProcessCPUTime();

}  // namespace
}  // namespace hvd::trace

BENCHMARK_MAIN();
