// SPDX-License-Identifier: Apache-2.0
// A hook on several tensors, which runs once per backward:
// - multi: when all gradients that this backward computes for the tensors are
//   known (the others are undefined);
// - any: when the first gradient is known.
//
//   auto handle = register_multi_grad_hook({q, k, v},
//       [](const std::vector<Tensor>& gradients) { … });
//
// Concurrent backward calls each run the hook. The tensors are not kept alive.
#pragma once

#include <functional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class MultiGradHandle {
 public:
  void remove() {
    for (HookHandle& handle : handles_) handle.remove();
  }

 private:
  friend MultiGradHandle register_multi_grad_hook(
      const std::vector<Tensor>&,
      std::function<void(const std::vector<Tensor>&)>);
  friend MultiGradHandle register_any_grad_hook(
      const std::vector<Tensor>&, std::function<void(const Tensor&)>);
  std::vector<HookHandle> handles_;
};

//   HookError  a tensor does not require grad
MultiGradHandle register_multi_grad_hook(
    const std::vector<Tensor>& tensors,
    std::function<void(const std::vector<Tensor>& gradients)> hook);
MultiGradHandle register_any_grad_hook(
    const std::vector<Tensor>& tensors,
    std::function<void(const Tensor& gradient)> hook);

}  // namespace autograd
}  // namespace hvd
