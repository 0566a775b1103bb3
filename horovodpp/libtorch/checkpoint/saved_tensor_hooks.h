// SPDX-License-Identifier: Apache-2.0
// Hooks for tensors that operations save for backward, as
// torch.autograd.graph.saved_tensors_hooks() in Python. libtorch asks its
// engine for the hooks, and only Python's engine has any. So an engine of ours
// is installed in front of the existing one. It forwards all calls, and answers
// only this question.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/types.h>

#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// Keeps one saved tensor.
using SavedHooks = torch::autograd::SavedVariableHooks;

// While it lives, it keeps the tensors that are saved on this thread, in place
// of outer hooks.
class SavedTensorHooks {
 public:
  SavedTensorHooks();
  virtual ~SavedTensorHooks() { innermost() = outer_; }
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;

  virtual std::unique_ptr<SavedHooks> make_hooks() = 0;

  // Null: there are none.
  static SavedTensorHooks*& innermost() {
    thread_local SavedTensorHooks* hooks = nullptr;
    return hooks;
  }

 private:
  SavedTensorHooks* const outer_;
};

class HookedEngine final : public torch::autograd::Engine {
 public:
  // Called once in a process.
  static void install() {
    static HookedEngine* const engine = [] {
      // Lives as long as the process, as all engines do.
      auto* const made =
          new HookedEngine(torch::autograd::Engine::get_default_engine());
      instance() = made;
      torch::autograd::set_default_engine_stub(
          []() -> torch::autograd::Engine& { return *instance(); });
      return made;
    }();
    (void)engine;
  }

  torch::autograd::variable_list execute(
      const torch::autograd::edge_list& roots,
      const torch::autograd::variable_list& inputs, bool keep_graph,
      bool create_graph, bool accumulate_grad,
      const torch::autograd::edge_list& outputs = {}) override {
    return before_.execute(roots, inputs, keep_graph, create_graph,
                           accumulate_grad, outputs);
  }
  c10::intrusive_ptr<at::ivalue::Future> execute_with_graph_task(
      const std::shared_ptr<torch::autograd::GraphTask>& graph_task,
      decltype(torch::autograd::Edge::function) graph_root,
      torch::autograd::InputBuffer&& input_buffer) override {
    return before_.execute_with_graph_task(graph_task, std::move(graph_root),
                                           std::move(input_buffer));
  }
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata()
      override {
    return before_.make_anomaly_metadata();
  }
  std::unique_ptr<SavedHooks> get_default_saved_variable_hooks() override {
    SavedTensorHooks* const hooks = SavedTensorHooks::innermost();
    return hooks != nullptr ? hooks->make_hooks()
                            : before_.get_default_saved_variable_hooks();
  }

 private:
  explicit HookedEngine(torch::autograd::Engine& before) : before_(before) {}
  static HookedEngine*& instance() {
    static HookedEngine* engine = nullptr;
    return engine;
  }

  torch::autograd::Engine& before_;
};

inline SavedTensorHooks::SavedTensorHooks() : outer_(innermost()) {
  HookedEngine::install();
  innermost() = this;
}

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
