// SPDX-License-Identifier: Apache-2.0
// A Surroundings is a snapshot of what surrounds an operation on a thread
// (tensor/thread_state.h, graph_state.h), to be put in force elsewhere: on another thread, or
// later.
#pragma once

#include "horovodpp/autograd/graph_state.h"
#include "horovodpp/tensor/intrusive_ptr.h"
#include "horovodpp/tensor/thread_state.h"

namespace hvd::autograd {

// Owns what it remembers.
class Surroundings {
 public:
  // Of this thread, now.
  static Surroundings capture();

  // Puts a snapshot in force on this thread for the life of the scope. The
  // snapshot outlives it.
  class Scope {
   public:
    explicit Scope(const Surroundings& surroundings);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ThreadState thread_;
    GraphState graph_;
  };

  ~Surroundings();
  Surroundings(const Surroundings& other);
  Surroundings& operator=(const Surroundings&) = delete;

 private:
  Surroundings() = default;
  ThreadState thread_;
  // The part of it that a scope sets; not the engine's.
  GraphState graph_;
  Ref<SavedTensorKeeper> saved_tensor_keeper_;
};

}  // namespace hvd::autograd
