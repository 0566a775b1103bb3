// SPDX-License-Identifier: Apache-2.0
// Watches the operations of a thread, as a checkpointed region does: it must
// know what is read from outside and, for its errors, what is recorded.
#pragma once

#include "horovodpp/autograd/graph_state.h"
#include "horovodpp/autograd/node.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/thread_state.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class OperationObserver {
 public:
  // An operation reads `tensor`, which may be undefined. (Not all that it reads:
  // what gradients could flow to.)
  virtual void reads(const Tensor& tensor) = 0;
  // An operation is recorded by `node`, which saves what it needs next.
  virtual void records(const Node& node) = 0;

  // Puts `observer`, or nobody, in force on this thread.
  class Scope {
   public:
    explicit Scope(OperationObserver* observer)
        : outer_(graph_state.operation_observer) {
      graph_state.operation_observer = observer;
    }
    ~Scope() { graph_state.operation_observer = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    OperationObserver* outer_;
  };

 protected:
  ~OperationObserver() = default;
};

}  // namespace autograd
}  // namespace hvd
