// SPDX-License-Identifier: Apache-2.0
// One warm, synchronous allreduce_ of 4 bytes between two ranks of one node, by
// name and prepared. walk.py records the executed lines with callgrind.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/loopback/loopback.h"

namespace {

constexpr int kWarmUp = 100;  // Longer than the ranks take to make a cycle.
constexpr int kRecorded = 60;

void must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

absl::Status allreduce(float* value) {
  const auto view = hvd::TensorView::of(value, hvd::Shape({1}));
  return hvd::allreduce_(view, {.name = "weight"});
}

}  // namespace

// The recorded functions, found by their names.
extern "C" __attribute__((noinline)) void recorded_call(float* value) {
  must(allreduce(value));
}
extern "C" __attribute__((noinline)) void recorded_prepared(
    hvd::Prepared* call) {
  must(call->run());
}

namespace {

void run(std::unique_ptr<hvd::transport::Communicator> wires,
         bool is_recorded) {
  hvd::Config config;
  config.measure_crossovers = false;
  auto job = hvd::Runtime::start(config, std::move(wires));
  must(job.status());
  const hvd::ThreadRuntime scope(**job);
  float value = 1;
  for (int i = 0; i < kWarmUp; ++i) must(allreduce(&value));
  for (int i = 0; i < kRecorded; ++i) {
    is_recorded ? recorded_call(&value) : must(allreduce(&value));
  }
  auto call = (*job)->prepare_allreduce_(
      hvd::TensorView::of(&value, hvd::Shape({1})), {.name = "weight"});
  must(call.status());
  for (int i = 0; i < kWarmUp; ++i) must(call->run());
  for (int i = 0; i < kRecorded; ++i) {
    is_recorded ? recorded_prepared(&*call) : must(call->run());
  }
  must((*job)->stop());
}

}  // namespace

int main() {
  hvd::transport::LoopbackWorld world({2});
  std::thread other([&] { run(world.communicator(1), false); });
  run(world.communicator(0), true);
  other.join();
}
