// SPDX-License-Identifier: Apache-2.0
// The cost of a step's calls, from one small tensor to 100,000. The calls are
// prepared, or by name, or by name in another order each time, or by name with
// a metric in every tenth step. Ranks are threads of this process.
//
//   calls_benchmark [ranks [most tensors [fewest tensors]]]
//
// Prints medians of a step of rank 0, in milliseconds. Only the steps of the
// column "first" need negotiation.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/core/outcome.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/benchmark/quartiles.h"

namespace hvd::benchmark {
namespace {

constexpr std::int64_t kElements = 256;  // 1 KiB each.
constexpr int kWarmUp = 12;  // More than the order takes to be fixed.

double milliseconds_of(const std::function<void()>& step) {
  const auto begin = std::chrono::steady_clock::now();
  step();
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - begin;
  return took.count();
}

double median_of(int steps, const std::function<void()>& step) {
  for (int i = 0; i < kWarmUp; ++i) step();
  std::vector<double> took;
  for (int i = 0; i < steps; ++i) took.push_back(milliseconds_of(step));
  return quartiles(std::move(took)).median;
}

// One rank's tensors, and the ways to make a step of them.
class Steps {
 public:
  Steps(Runtime& job, std::size_t tensors)
      : job_(job),
        memory_(tensors * static_cast<std::size_t>(kElements), 1.0f),
        order_(tensors),
        futures_(tensors) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = 0; i < tensors; ++i) {
      names_.push_back("layer" + std::to_string(i) + ".weight");
    }
  }

  void prepare() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      prepared_.push_back(value_or_throw(job_.prepare_allreduce_(
          view(i), {.name = names_[i], .op = ReduceOp::kSum})));
    }
  }
  void by_handle() {
    for (Prepared& one : prepared_) one.start();
    for (Prepared& one : prepared_) throw_if_error(one.wait());
  }
  void by_name() {
    for (const std::size_t i : order_) {
      futures_[i] = job_.allreduce_async_(
          view(i), {.name = names_[i], .op = ReduceOp::kSum});
    }
    for (const Future<void>& one : futures_) throw_if_error(one.wait());
  }
  // Every rank uses its own order.
  void shuffled() {
    std::shuffle(order_.begin(), order_.end(), random_);
    by_name();
  }
  void with_metric() {
    by_name();
    if (++step_ % 10 != 0) return;
    float metric = 1;
    throw_if_error(
        job_.allreduce_async_(TensorView::of(&metric, {1}), {.name = "metric"})
            .wait());
  }

 private:
  TensorView view(std::size_t i) {
    return TensorView::of(
        memory_.data() + i * static_cast<std::size_t>(kElements), {kElements});
  }

  Runtime& job_;
  std::vector<float> memory_;
  std::vector<std::string> names_;
  std::vector<std::size_t> order_;
  std::vector<Future<void>> futures_;
  std::vector<Prepared> prepared_;
  std::mt19937_64 random_{static_cast<std::uint64_t>(rank())};
  int step_ = 0;
};

void measure(int ranks, std::size_t tensors) {
  const int steps =
      static_cast<int>(std::clamp<std::size_t>(200'000 / tensors, 5, 2000));
  run_ranks(ranks, [&] {
    Steps mine(current_runtime(), tensors);
    const double first = milliseconds_of([&] { mine.by_name(); });
    const double by_name = median_of(steps, [&] { mine.by_name(); });
    const double metric = median_of(steps, [&] { mine.with_metric(); });
    const double shuffled = median_of(steps, [&] { mine.shuffled(); });
    mine.prepare();
    const double by_handle = median_of(steps, [&] { mine.by_handle(); });
    if (rank() != 0) return;
    std::printf("%8zu %10.4f %10.4f %10.4f %10.4f %10.4f %12.3f\n", tensors,
                by_handle, by_name, shuffled, metric, first,
                by_name * 1000 / static_cast<double>(tensors));
    std::fflush(stdout);
  });
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const auto most =
      static_cast<std::size_t>(argc > 2 ? std::atoll(argv[2]) : 100'000);
  std::printf("%d ranks; a step in ms\n%8s %10s %10s %10s %10s %10s %12s\n",
              ranks, "tensors", "handles", "names", "shuffled", "metric",
              "first", "us per name");
  const auto fewest =
      static_cast<std::size_t>(argc > 3 ? std::atoll(argv[3]) : 1);
  for (std::size_t tensors = fewest; tensors <= most; tensors *= 10) {
    hvd::benchmark::measure(ranks, tensors);
  }
}
