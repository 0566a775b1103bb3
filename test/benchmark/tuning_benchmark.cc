// SPDX-License-Identifier: Apache-2.0
// Steps of data-parallel training without a model: gradients of the sizes of a
// model become ready one by one, while the program sleeps or computes, and are
// reduced meanwhile. scripts/compare_tuning.py compares batches.
//
//   tuning_benchmark <resnet50|gpt2|small> <scale> <backward ms> <steps> [busy]
//
// Tensors have `scale` times fewer elements than the model's. Rank 0 prints the
// milliseconds of each step, one a line.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/outcome.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "test/benchmark/guarded_main.h"
#include "test/benchmark/model_shapes.h"

namespace hvd::benchmark {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// Elements of each gradient, in the order in which backward makes them.
std::vector<std::int64_t> sizes_of(const std::string& model,
                                   std::int64_t scale) {
  std::vector<std::int64_t> sizes;
  if (model == "small") {
    sizes.assign(1000, 256);
  } else {
    for (const Shape& shape :
         model == "gpt2" ? gpt2_small_shapes() : resnet50_shapes()) {
      sizes.push_back(shape.num_elements());
    }
    std::reverse(sizes.begin(), sizes.end());
  }
  for (std::int64_t& size : sizes) {
    size = std::max<std::int64_t>(1, size / scale);
  }
  return sizes;
}

void pass_time_until(Clock::time_point moment, bool is_busy) {
  if (!is_busy) return std::this_thread::sleep_until(moment);
  while (Clock::now() < moment) {
  }
}

int run(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: tuning_benchmark <resnet50|gpt2|small> <scale> "
                 "<backward ms> <steps> [busy]\n");
    return 2;
  }
  const std::vector<std::int64_t> sizes =
      sizes_of(argv[1], std::max(1, std::atoi(argv[2])));
  const Milliseconds backward(std::atof(argv[3]));
  const int steps = std::atoi(argv[4]);
  const bool is_busy = argc > 5 && std::string(argv[5]) == "busy";
  throw_if_error(init());
  std::vector<std::vector<float>> gradients;
  std::vector<std::string> names;
  for (const std::int64_t size : sizes) {
    gradients.emplace_back(static_cast<std::size_t>(size), 1.0f);
    names.push_back("gradient" + std::to_string(names.size()));
  }
  std::vector<Future<void>> futures(sizes.size());
  std::vector<double> took;
  const auto count = static_cast<double>(sizes.size());
  for (int step = 0; step < steps; ++step) {
    const auto began = Clock::now();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Milliseconds part = backward * (static_cast<double>(i + 1) / count);
      pass_time_until(began + std::chrono::duration_cast<Clock::duration>(part),
                      is_busy);
      futures[i] = allreduce_async_(
          TensorView::of(gradients[i].data(), {sizes[i]}), {.name = names[i]});
    }
    for (const Future<void>& future : futures) throw_if_error(future.wait());
    took.push_back(Milliseconds(Clock::now() - began).count());
  }
  if (rank() == 0) {
    for (const double one : took) std::printf("%.4f\n", one);
  }
  throw_if_error(shutdown());
  return 0;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  return hvd::benchmark::guarded_main(hvd::benchmark::run, argc, argv);
}
