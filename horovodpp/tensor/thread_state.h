// SPDX-License-Identifier: Apache-2.0
// What surrounds an operation on this thread: whether it is recorded, and where
// its random numbers come from. (What else the graph keeps for a thread is in
// autograd/graph_state.h.) Scopes set it:
//
//   {
//     hvd::NoGrad no_grad;
//     w.add_(w.grad(), -0.1);   // not recorded
//   }
#pragma once

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

namespace autograd {

class Generator;

// Plain data: reading it costs an instruction or two.
struct ThreadState {
  bool grad_enabled = true;
  bool inference_mode = false;
  Generator* generator = nullptr;  // Null: the thread's own.
};

// At a fixed distance from the thread pointer, in a shared library too.
[[gnu::tls_model(
    "initial-exec")]] extern constinit thread_local ThreadState thread_state;

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
