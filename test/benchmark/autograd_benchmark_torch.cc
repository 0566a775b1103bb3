// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>

#include "test/benchmark/autograd_benchmark.h"

namespace hvd {
namespace {

struct Libtorch {
  using Tensor = torch::Tensor;
  static Tensor one_element(double value, bool requires_grad) {
    return torch::full(
        {1}, value, torch::dtype(torch::kFloat32).requires_grad(requires_grad));
  }
  static void backward(const Tensor& root, bool retain_graph) {
    root.backward({}, retain_graph);
  }
};

}  // namespace

std::string measure_libtorch() {
  torch::set_num_threads(1);
  measure_autograd<Libtorch>("libtorch");
  return TORCH_VERSION;
}

}  // namespace hvd
