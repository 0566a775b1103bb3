// SPDX-License-Identifier: Apache-2.0
// The per-thread state of the graph, of checkpoints and of backward calls.
//
// This struct and ThreadState (tensor/base/thread_state.h), for the state of
// operations without a graph, hold all per-thread state of the autograd half.
// Apart are only:
// - the cache of small blocks (kernel/allocator.cc), which must outlive all
//   else of a thread and is drained at the thread's end;
// - the default generator (tensor/base/generator.cc), which is no plain data;
// - the state of foreign libraries on this thread: OpenMP's number of threads
//   (kernel/intra_op.cc) and oneDNN's stream (kernel/products/dnnl_routine.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class BudgetFamily;
class BudgetLedger;
class EffectScope;
class GraphTask;
class Node;
class OperationObserver;
class ReplayGroup;
class SavedTensorStore;
class Warnings;
struct AutocastState;

// The part that a snapshot (thread_snapshot.h) takes to another thread.
// Pointers are valid during the scopes that set them.
struct GraphScopes {
  SavedTensorStore* saved_tensor_store = nullptr;
  OperationObserver* operation_observer = nullptr;
  // The reason why saved-tensor hooks are forbidden; null: allowed.
  const std::string* saved_tensor_hooks_forbidden = nullptr;
  AutocastState* autocast = nullptr;
  Warnings* warnings = nullptr;
  // A checkpointed region is recomputed for its backward.
  bool recomputing = false;
  // The forward mark of the region being recomputed (captured_tensors.h), or 0.
  std::uint64_t forward_mark = 0;
  // Within an operation made of others (operation_observer.h).
  bool in_operation = false;
  bool detect_anomaly = false;
  bool check_nan = false;
  const Node* running_node = nullptr;  // With detect_anomaly only.
};

// Plain data, so that a read costs one or two instructions, and static tensors
// may be destroyed after a thread's other objects.
struct GraphState : GraphScopes {
  // The engine.
  GraphTask* graph_task = nullptr;  // The innermost backward on this thread.
  int backward_depth = 0;           // Number of nested backward calls.
  std::uint64_t next_sequence = 0;  // Number for the next node.
  std::uint64_t tensors_freed = 0;  // Saved tensors freed so far.
  // Nodes that wait for destruction, and whether a loop destroys them
  // (node.cc).
  Node* nodes_to_destroy = nullptr;
  bool destroys_nodes = false;
  // Checkpoints: the innermost scope of each kind, or null.
  EffectScope* effects = nullptr;         // effects.h
  BudgetFamily* budget_family = nullptr;  // budget_family.h
  BudgetLedger* budget_ledger = nullptr;  // Of a MemoryBudget.
  ReplayGroup* replay_group = nullptr;    // replay_group.h
  std::optional<bool> early_stop;         // Of a CheckpointEarlyStop.
  std::optional<bool> checkpoint_debug;   // Of a CheckpointDebug.
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
