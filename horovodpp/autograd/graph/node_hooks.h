// SPDX-License-Identifier: Apache-2.0
// The extras of a Node: user hooks, tensors that retain their gradients, and
// the call stack that recorded the node. Most nodes have none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/hook_list.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The call stack that recorded an operation: see anomaly.h.
struct ForwardTrace {
  std::vector<void*> calls;
  // The trace of the node that ran, if recorded during a backward.
  std::string during;
};

// The hooks of a node, and the tensors that retain_grad() registered.
struct NodeHooks {
  struct TensorHook {
    std::uint32_t input_nr;
    std::function<Tensor(const Tensor&)> call;
  };
  struct Retain {
    std::uint32_t input_nr;
    const TensorImpl* key;
    WeakTensor tensor;
  };
  HookList<TensorHook> tensor;
  HookList<std::function<void(std::span<Tensor> gradients)>> pre;
  HookList<std::function<void(std::span<Tensor> results,
                              std::span<const Tensor> gradients)>>
      post;
  // Of a node that runs within another: gives its saved result the history that
  // leads to the outer node. Empty for other nodes.
  std::function<Tensor(const Tensor& result)> attach;
  std::unique_ptr<const ForwardTrace> trace;
  SpinLock retains_lock;
  std::vector<Retain> retains ABSL_GUARDED_BY(retains_lock);
  Mutex gradients;  // Guards the grad() of the tensors in `retains`.
};

}  // namespace hvd::autograd
