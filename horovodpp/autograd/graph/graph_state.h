// SPDX-License-Identifier: Apache-2.0
// The per-thread state of the graph: the keeper of saved tensors, autocast,
// anomaly detection, and the current backward.
#pragma once

#include <cstdint>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class GraphTask;
class Node;
class OperationObserver;
class SavedTensorKeeper;
class Warnings;
struct AutocastState;

// Plain data, so that a read costs one or two instructions.
struct GraphState {
  SavedTensorKeeper* saved_tensor_keeper = nullptr;  // Valid during its scope.
  OperationObserver* operation_observer = nullptr;   // Valid during its scope.
  // The reason why saved-tensor hooks are forbidden; null: allowed.
  const std::string* saved_tensor_hooks_forbidden = nullptr;
  AutocastState* autocast = nullptr;  // Valid during its scope.
  Warnings* warnings = nullptr;       // Valid during its scope.
  // A checkpointed region is recomputed for its backward.
  bool recomputing = false;
  // The forward mark of the region being recomputed (captured_tensors.h), or 0.
  std::uint64_t forward_mark = 0;
  // Within an operation made of others (operation_observer.h).
  bool in_operation = false;
  bool detect_anomaly = false;
  bool check_nan = false;
  const Node* running_node = nullptr;  // With detect_anomaly only.
  // Used by the engine:
  GraphTask* graph_task = nullptr;  // The innermost backward on this thread.
  int backward_depth = 0;           // Number of nested backward calls.
  std::uint64_t next_sequence = 0;  // Number for the next node.
  std::uint64_t tensors_freed = 0;  // Saved tensors freed so far.
};

// initial-exec: a fixed offset from the thread pointer, also in a shared
// library.
[[gnu::tls_model(
    "initial-exec")]] extern constinit thread_local GraphState graph_state;

// Whether this thread recomputes a checkpointed region for its backward.
// Effects of the region have already happened.
inline bool is_recomputing() { return graph_state.recomputing; }

// Sets is_recomputing() while it lives. Scopes nest.
class Recomputing {
 public:
  Recomputing() : before_(graph_state.recomputing) {
    graph_state.recomputing = true;
  }
  ~Recomputing() { graph_state.recomputing = before_; }
  Recomputing(const Recomputing&) = delete;
  Recomputing& operator=(const Recomputing&) = delete;

 private:
  bool before_;
};

}  // namespace autograd
}  // namespace hvd
