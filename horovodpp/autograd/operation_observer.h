// SPDX-License-Identifier: Apache-2.0
// Watches the operations of a thread, as a checkpointed region does: it must
// know what is read from outside, may keep results and, for its errors, must
// know what is recorded.
#pragma once

#include <any>
#include <string_view>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph_state.h"
#include "horovodpp/autograd/node.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/thread_state.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// What an operation computed; and, of a custom Function, what else it needs to do
// without its forward.
struct OperationResults {
  std::vector<Tensor> tensors;
  std::any note;
};

// In its scope, what operations on this thread compute is part of another one, or
// happens once: no observer is asked about it.
class WithinOperation {
 public:
  WithinOperation() : outer_(std::exchange(graph_state.in_operation, true)) {}
  ~WithinOperation() { graph_state.in_operation = outer_; }
  WithinOperation(const WithinOperation&) = delete;
  WithinOperation& operator=(const WithinOperation&) = delete;

 private:
  bool outer_;
};

class OperationObserver {
 public:
  // An operation reads `tensor`, which may be undefined. (Not all that it reads:
  // what gradients could flow to.)
  virtual void reads(const Tensor& tensor) = 0;
  // An operation is recorded by `node`, which saves what it needs next.
  virtual void records(const Node& node) = 0;

  // --- If it follows results ---
  // An operation is about to compute. True: it need not, these are its results.
  // `operation` lives for ever, as below.
  virtual bool recalls(const char* operation, OperationResults& results) = 0;
  // It has computed them. (No tensors: they cannot be kept.)
  virtual void made(const char* operation, const OperationResults& results) = 0;
  // The program calls `tensor` by this name.
  virtual void named(const Tensor& tensor, std::string_view name) = 0;

  bool follows_results() const { return follows_results_; }
  // Whether also of what regions compute again meanwhile, for a backward.
  bool follows_recomputations() const { return follows_recomputations_; }
  // The one that follows the results of operations on this thread, or null.
  static OperationObserver* of_results() {
    OperationObserver* observer = graph_state.operation_observer;
    if (observer == nullptr) [[likely]]
      return nullptr;
    if (!observer->follows_results_ || graph_state.in_operation) return nullptr;
    return observer;
  }

  // Puts `observer`, or nobody, in force on this thread.
  class Scope {
   public:
    explicit Scope(OperationObserver* observer)
        : outer_(graph_state.operation_observer),
          in_operation_(graph_state.in_operation) {
      graph_state.operation_observer = observer;
      graph_state.in_operation = false;
    }
    ~Scope() {
      graph_state.operation_observer = outer_;
      graph_state.in_operation = in_operation_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    OperationObserver* outer_;
    bool in_operation_;
  };

 protected:
  ~OperationObserver() = default;

  bool follows_results_ = false;
  bool follows_recomputations_ = false;
};

}  // namespace autograd
}  // namespace hvd
