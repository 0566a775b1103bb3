// SPDX-License-Identifier: Apache-2.0
// The per-thread state of operations: whether they are recorded, the source of
// random numbers, the streams of GPUs, and the memory for gradients. autograd/graph/graph_state.h
// has the graph's, and lists further per-thread state. Scopes set it:
//
//   {
//     hvd::NoGrad no_grad;
//     w.add_(w.grad(), -0.1);   // not recorded
//   }
#pragma once

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

class StreamScope;

namespace autograd {

class ExpectedGradients;
class Generator;

// The part that a snapshot (autograd/thread_snapshot.h) takes to another
// thread.
struct ThreadModes {
  bool grad_enabled = true;
  bool inference_mode = false;
  Generator* generator = nullptr;  // Null: the thread's default.
  // The innermost scope (stream_scope.h), or null: all default streams.
  const StreamScope* streams = nullptr;
};

// Plain data, so that a read costs one or two instructions.
struct ThreadState : ThreadModes {
  // The innermost scope (gradient_home.h), or null.
  const ExpectedGradients* expected_gradients = nullptr;
};

// initial-exec: a fixed offset from the thread pointer, also in a shared
// library.
[[gnu::tls_model(
    "initial-exec")]] extern constinit thread_local ThreadState thread_state;

}  // namespace autograd

// Whether operations on this thread are recorded.
inline bool is_grad_enabled() { return autograd::thread_state.grad_enabled; }

// Sets is_grad_enabled() while it lives. Scopes nest.
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

// A stronger NoGrad. Tensors made in its scope can never be part of a graph;
// they have no version, and cost less. Outside of the scope they may be read
// and be cloned to normal tensors. An EnableGrad inside records normal tensors
// again.
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
