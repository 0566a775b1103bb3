// SPDX-License-Identifier: Apache-2.0
// An observer of the operations of a thread. A checkpointed region uses one to
// find the tensors read from outside, to keep results, and to name recorded
// operations in errors.
#pragma once

#include <any>
#include <string_view>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// The results of an operation; for a custom Function also the data that
// replaces its forward.
struct OperationResults {
  std::vector<Tensor> tensors;
  std::any note;
};

// While it lives, operations on this thread are part of another operation, or
// happen once: no observer is asked.
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
  // An operation reads `tensor`, which may be undefined. (Only inputs that
  // could receive gradients.)
  virtual void reads(const Tensor& tensor) = 0;
  // `node` records an operation; saved tensors follow.
  virtual void records(const Node& node) = 0;

  // --- Only with follows_results() ---
  // Before an operation computes. True: skip it and use these results.
  // `operation` has static lifetime, here and below.
  virtual bool recalls(const char* operation, OperationResults& results) = 0;
  // After an operation computed. (No tensors: the results cannot be kept.)
  virtual void made(const char* operation, const OperationResults& results) = 0;
  // The program names `tensor`.
  virtual void named(const Tensor& tensor, std::string_view name) = 0;

  bool follows_results() const { return follows_results_; }
  // Whether also results of regions recomputed for a backward.
  bool follows_recomputations() const { return follows_recomputations_; }
  // The observer of results on this thread, or null.
  static OperationObserver* of_results() {
    OperationObserver* observer = graph_state.operation_observer;
    if (observer == nullptr) [[likely]]
      return nullptr;
    if (!observer->follows_results_ || graph_state.in_operation) return nullptr;
    return observer;
  }

  // Puts `observer`, which may be null, in force on this thread.
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
