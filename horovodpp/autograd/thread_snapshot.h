// SPDX-License-Identifier: Apache-2.0
// A ThreadSnapshot copies the thread state that operations use
// (tensor/base/thread_state.h, graph_state.h), to restore it on another thread
// or later.
#pragma once

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

// Owns its contents.
class ThreadSnapshot {
 public:
  // A snapshot of this thread's current state.
  static ThreadSnapshot capture();

  // Restores a snapshot on this thread while it lives. The snapshot outlives
  // it.
  class Scope {
   public:
    explicit Scope(const ThreadSnapshot& snapshot);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ThreadModes thread_;
    GraphScopes graph_;
  };

  ~ThreadSnapshot();
  ThreadSnapshot(const ThreadSnapshot& other);
  ThreadSnapshot& operator=(const ThreadSnapshot&) = delete;

 private:
  ThreadSnapshot() = default;
  ThreadModes thread_;
  GraphScopes graph_;
  Ref<SavedTensorStore> saved_tensor_store_;
};

}  // namespace hvd::autograd
