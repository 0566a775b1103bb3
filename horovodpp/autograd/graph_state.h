// SPDX-License-Identifier: Apache-2.0
// What the graph keeps for each thread: who packs the tensors that operations
// save, what autocast and anomaly detection want, and which backward runs.
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

// Plain data: reading it costs an instruction or two.
struct GraphState {
  SavedTensorKeeper* saved_tensor_keeper = nullptr;  // Kept alive by its scope.
  OperationObserver* operation_observer = nullptr;   // Likewise.
  // Why saved-tensor hooks must not be set; null if they may be.
  const std::string* saved_tensor_hooks_forbidden = nullptr;
  AutocastState* autocast = nullptr;  // Kept alive by its scope,
  Warnings* warnings = nullptr;       // likewise.
  bool recomputing = false;  // A checkpointed region, for its backward.
  // When the forward of what is recomputed was (captured_tensors.h), or 0.
  std::uint64_t forward_mark = 0;
  bool in_operation = false;  // Which uses others (operation_observer.h).
  bool detect_anomaly = false;
  bool check_nan = false;
  const Node* running_node = nullptr;  // Under detect_anomaly.
  // The engine's:
  GraphTask* graph_task = nullptr;  // The innermost backward that runs here.
  int backward_depth = 0;           // How many run, on this call chain.
  std::uint64_t next_sequence = 0;  // Of the node made next.
  std::uint64_t tensors_freed = 0;  // Saved ones, ever.
};

// At a fixed distance from the thread pointer, in a shared library too.
[[gnu::tls_model(
    "initial-exec")]] extern constinit thread_local GraphState graph_state;

// Whether what runs on this thread ran before: a checkpointed region, which is
// computed again for its backward. What has an effect has had it.
inline bool is_recomputing() { return graph_state.recomputing; }

// Says so for the life of the object. Scopes nest.
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
