// SPDX-License-Identifier: Apache-2.0
// Memory that becomes free when gradients move to the arena is kept for later
// allocations, and not returned to the system.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "test/libtorch/checks.h"
#include "test/libtorch/model.h"

namespace {

namespace lt = hvd::libtorch;
using test::Model;
using torch::Tensor;

// The number of pages that the process has got from the system.
long pages_so_far() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

constexpr int kTensors = 5;
constexpr std::int64_t kBytes = 20 << 20;  // Of each.

void use_memory() {
  std::vector<Tensor> tensors;
  for (int i = 0; i < kTensors; ++i) {
    tensors.push_back(torch::ones({kBytes}, torch::kUInt8));
  }
}

TEST(MemoryIsKeptOnceGradientsMove) {
  if (lt::size() == 1) return;  // Gradients do not move.
  Model model;
  lt::DistributedOptimizer optimizer(test::sgd_for(model),
                                     model->named_parameters());
  test::loss_of(model->plain(test::of_this_rank(test::batch(0)))).backward();
  optimizer.step();
  // Other allocations may fragment free memory and sometimes grow the heap.
  // Memory that is not kept comes from the system each time.
  const long used = kTensors * kBytes / sysconf(_SC_PAGESIZE);
  long fewest = used;
  for (int i = 0; i < 10; ++i) {
    const long before = pages_so_far();
    use_memory();
    fewest = std::min(fewest, pages_so_far() - before);
  }
  if (fewest > used / 10) {
    test::fail(__LINE__, "of " + std::to_string(used) + " pages at least " +
                             std::to_string(fewest) +
                             " come from the system each time");
  }
}

}  // namespace
