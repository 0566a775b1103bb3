// SPDX-License-Identifier: Apache-2.0
// What hangs on a Node: hooks of users, the tensors that retain their gradients,
// and where it was recorded. Most nodes have none of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/spin_lock.h"
#include "horovodpp/tensor/hook_list.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The calls that led to an operation: see anomaly.h.
struct ForwardTrace {
  std::vector<void*> calls;
  std::string during;  // Of the node that ran, if this was made in a backward.
};

// What users and retain_grad() hung onto a node.
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
  std::unique_ptr<const ForwardTrace> trace;
  SpinLock retains_lock;
  std::vector<Retain> retains ABSL_GUARDED_BY(retains_lock);
  Mutex gradients;  // Guards the grad() of those tensors.
};

}  // namespace hvd::autograd
