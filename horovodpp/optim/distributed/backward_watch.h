// SPDX-License-Identifier: Apache-2.0
// A BackwardWatch tells, of the parameters of one optimizer, which contributions
// to their gradients are whole ones: one for each backward call of the user's that
// reaches the parameter.
//
// Where no reentrant region takes part, that is what a leaf's hook says. Such a
// region runs a backward of its own, and what is used in two of them, or in one
// and outside, has its hooks called for each. Which regions are still to come, and
// what they will reach, nobody knows before they run: the contributions of a
// backward in which there may be any are counted when it ends.
//
// With `every_backward_counts`, each backward that reaches any of the parameters
// counts for all of them. What a plain one does not reach is counted when it
// begins.
//
// Thread-safe: it hears of the backward calls of the whole process, each on its own
// thread, even when the optimizer is gone.
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
#include "horovodpp/core/mutex.h"
#include "horovodpp/tensor/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

// What the optimizer has to say; by the place of a parameter in its list.
struct BackwardEvents {
  std::function<void(std::size_t)> contribute;  // Counts one.
  std::function<int(std::size_t)> owed;         // How many are to come.
};

class BackwardWatch {
 public:
  BackwardWatch(std::vector<Tensor> parameters, BackwardEvents events,
                bool every_backward_counts);
  // The optimizer goes; no backward of its parameters is running.
  ~BackwardWatch();
  BackwardWatch(const BackwardWatch&) = delete;
  BackwardWatch& operator=(const BackwardWatch&) = delete;

  // The parameter requires grad, maybe not for ever. Until then it is not looked at
  // by backward calls on other threads.
  void watch(std::size_t index);

  // A backward has just added to the gradient of a parameter; called by its hook.
  void reached(std::size_t index);

 private:
  class Watching;  // What observers share.
  const std::shared_ptr<Watching> watching_;
  autograd::HookHandle observer_;
};

}  // namespace hvd::optim
