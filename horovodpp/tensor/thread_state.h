// What surrounds an operation on this thread: whether it is recorded, where its
// random numbers come from, and who packs the tensors it saves. Scopes set it:
//
//   {
//     hvd::NoGrad no_grad;
//     w.add_(w.grad(), -0.1);   // not recorded
//   }
#pragma once

#include <cstdint>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

namespace autograd {

class Generator;
class GraphTask;
class Node;
class Warnings;
struct AutocastState;
class OperationObserver;
class SavedTensorKeeper;

// Plain data: reading it costs an instruction or two.
struct ThreadState {
  bool grad_enabled = true;
  bool inference_mode = false;
  Generator* generator = nullptr;                    // Null: the thread's own.
  SavedTensorKeeper* saved_tensor_keeper = nullptr;  // Kept alive by its scope.
  OperationObserver* operation_observer = nullptr;   // Likewise.
  // Why saved-tensor hooks must not be set; null if they may be.
  const std::string* saved_tensor_hooks_forbidden = nullptr;
  AutocastState* autocast = nullptr;  // Kept alive by its scope,
  Warnings* warnings = nullptr;       // likewise.
  bool recomputing = false;  // A checkpointed region, for its backward.
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
    "initial-exec")]] extern constinit thread_local ThreadState thread_state;

// Whether what runs on this thread ran before: a checkpointed region, which is
// computed again for its backward. What has an effect has had it.
inline bool is_recomputing() { return thread_state.recomputing; }

// Says so for the life of the object. Scopes nest.
class Recomputing {
 public:
  Recomputing() : before_(thread_state.recomputing) {
    thread_state.recomputing = true;
  }
  ~Recomputing() { thread_state.recomputing = before_; }
  Recomputing(const Recomputing&) = delete;
  Recomputing& operator=(const Recomputing&) = delete;

 private:
  bool before_;
};

}  // namespace autograd

// Whether operations on this thread are recorded.
inline bool is_grad_enabled() { return autograd::thread_state.grad_enabled; }

// Sets that for the life of the object. Scopes nest.
class SetGradEnabled {
 public:
  explicit SetGradEnabled(bool enabled)
      : before_(autograd::thread_state.grad_enabled) {
    autograd::thread_state.grad_enabled = enabled;
  }
  ~SetGradEnabled() { autograd::thread_state.grad_enabled = before_; }
  SetGradEnabled(const SetGradEnabled&) = delete;
  SetGradEnabled& operator=(const SetGradEnabled&) = delete;

 private:
  bool before_;
};

struct NoGrad : SetGradEnabled {
  NoGrad() : SetGradEnabled(false) {}
};
struct EnableGrad : SetGradEnabled {
  EnableGrad() : SetGradEnabled(true) {}
};

// Stronger than NoGrad: tensors made in its scope can never be part of a graph,
// for which they have no version to check and cost less. Outside of it they may
// be read, and be cloned into normal ones. EnableGrad within records normal
// tensors again.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true)
      : before_(autograd::thread_state.inference_mode), grad_(!enabled) {
    autograd::thread_state.inference_mode = enabled;
  }
  ~InferenceMode() { autograd::thread_state.inference_mode = before_; }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  bool before_;
  SetGradEnabled grad_;
};
inline bool is_inference_mode_enabled() {
  return autograd::thread_state.inference_mode;
}

}  // namespace hvd
