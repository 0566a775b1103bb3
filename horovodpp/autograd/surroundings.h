// SPDX-License-Identifier: Apache-2.0
// A Surroundings is a snapshot of the thread state that operations use
// (tensor/base/thread_state.h, graph_state.h), to be restored on another thread or
// later.
#pragma once

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

// Owns its contents.
class Surroundings {
 public:
  // A snapshot of this thread's current state.
  static Surroundings capture();

  // Restores a snapshot on this thread while it lives. The snapshot outlives
  // it.
  class Scope {
   public:
    explicit Scope(const Surroundings& surroundings);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ThreadModes thread_;
    GraphScopes graph_;
  };

  ~Surroundings();
  Surroundings(const Surroundings& other);
  Surroundings& operator=(const Surroundings&) = delete;

 private:
  Surroundings() = default;
  ThreadModes thread_;
  GraphScopes graph_;
  Ref<SavedTensorKeeper> saved_tensor_keeper_;
};

}  // namespace hvd::autograd
