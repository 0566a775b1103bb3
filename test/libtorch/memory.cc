// SPDX-License-Identifier: Apache-2.0
#include "test/libtorch/memory.h"

#include <dlfcn.h>
#include <torch/torch.h>

#include <cstdio>
#include <vector>

#include "horovodpp/libtorch.h"

namespace {

long peak(const char* function) {
  auto* const call =
      reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, function));
  return call == nullptr ? -1 : call();
}

}  // namespace

void test::print_peak_memory() {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  std::vector<torch::nn::Sequential> blocks;
  for (int i = 0; i < 12; ++i) {
    blocks.push_back(torch::nn::Sequential(torch::nn::Linear(128, 512),
                                           torch::nn::GELU(),
                                           torch::nn::Linear(512, 128)));
  }
  for (int step = 0; step < 2; ++step) {
    const torch::Tensor x = torch::randn({512, 128}, torch::requires_grad());
    peak("peak_memory_begin");
    torch::Tensor y = x;
    for (auto& block : blocks) {
      y = hvd::libtorch::checkpoint(
          [block](torch::Tensor in) mutable { return block->forward(in); }, y);
    }
    const torch::Tensor loss = y.pow(2).mean();
    loss.backward();
    y = torch::Tensor();
    if (step == 1) std::printf("%ld\n", peak("peak_memory_most"));
  }
}
