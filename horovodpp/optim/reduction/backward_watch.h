// SPDX-License-Identifier: Apache-2.0
// A BackwardWatch counts the contributions to the gradients of one optimizer's
// parameters: one for each backward call of the user's that reaches the
// parameter.
//
// Without reentrant regions, a leaf's hook marks a contribution. A reentrant
// region runs its own backward. The hooks of a parameter are then called for
// each region that uses it, and once more for uses outside. Before a region
// runs, the regions to come and the parameters that they reach are unknown. So
// the contributions of a backward that may contain regions are counted when it
// ends.
//
// With `every_backward_counts`, each backward that reaches any of the
// parameters counts for all of them. The parameters that a backward without
// regions does not reach are counted when it begins.
//
// Thread-safe. The watch observes the backward calls of the whole process, each
// on its own thread, even after the optimizer is gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/autograd/engine.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/tensor/base/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

// Calls into the optimizer. Parameters are given by their index in its list.
struct BackwardEvents {
  std::function<void(std::size_t)> contribute;  // Counts one.
  std::function<int(std::size_t)> owed;         // Contributions to come.
};

class BackwardWatch {
 public:
  BackwardWatch(std::vector<Tensor> parameters, BackwardEvents events,
                bool every_backward_counts);
  // Call when the optimizer ends; no backward of its parameters is running.
  ~BackwardWatch();
  BackwardWatch(const BackwardWatch&) = delete;
  BackwardWatch& operator=(const BackwardWatch&) = delete;

  // Watches a parameter that requires grad now. Before this call, backward
  // calls on other threads ignore the parameter.
  void watch(std::size_t index);

  // A backward has just added to the gradient of a parameter; the parameter's
  // hook calls this.
  void reached(std::size_t index);

 private:
  class Watching;  // State that the observers share.
  const std::shared_ptr<Watching> watching_;
  autograd::HookHandle observer_;
};

}  // namespace hvd::optim
