// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/reentrant_checkpoint.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/autograd/graph_task.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/captured_tensors.h"
#include "horovodpp/autograd/record/effects.h"
#include "horovodpp/autograd/record/function.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/tensor/base/generator.h"

namespace hvd::autograd {
namespace {

using Tensors = std::vector<Tensor>;

// The function, with the state to restore for its second run.
struct Region {
  CheckpointedFunction function;
  AutocastSetting autocast;
  std::optional<Generator::State> random;
  std::shared_ptr<EffectLog> effects;
  std::shared_ptr<CapturedTensors> captured;
};

// Observes the captures of one run of the function, and forwards all events to
// the outer observer.
class CaptureWatch : public OperationObserver {
 public:
  CaptureWatch() : outer_(std::exchange(graph_state.operation_observer, this)) {
    if (outer_ == nullptr) return;
    follows_results_ = outer_->follows_results();
    follows_recomputations_ = outer_->follows_recomputations();
  }
  virtual ~CaptureWatch() { graph_state.operation_observer = outer_; }
  CaptureWatch(const CaptureWatch&) = delete;
  CaptureWatch& operator=(const CaptureWatch&) = delete;

  void records(const Node& node) override {
    if (outer_ != nullptr) outer_->records(node);
  }
  bool recalls(const char* operation, OperationResults& results) override {
    return outer_->recalls(operation, results);
  }
  void made(const char* operation, const OperationResults& results) override {
    outer_->made(operation, results);
  }
  void named(const Tensor& tensor, std::string_view name) override {
    if (outer_ != nullptr) outer_->named(tensor, name);
  }

 protected:
  OperationObserver* const outer_;
};

class WatchForward final : public CaptureWatch {
 public:
  explicit WatchForward(CapturedTensors& captured) : captured_(captured) {}
  void reads(const Tensor& tensor) override { captured_.reads(tensor); }
  // Call after the function returns: reports its captures to the outer
  // observer.
  void finish() const { captured_.report_to(outer_); }

 private:
  CapturedTensors& captured_;
};

class WatchRecomputation final : public CaptureWatch {
 public:
  explicit WatchRecomputation(const CapturedTensors& captured)
      : check_(captured) {
    captured.report_to(outer_);
  }
  void reads(const Tensor& tensor) override {
    if (const auto change = check_.reads(tensor)) {
      throw CheckpointError(
          absl::StrCat("checkpoint_reentrant: ", change->text("")));
    }
  }

 private:
  CapturedTensors::Check check_;
};

// Restores a generator state while it lives.
class ReplayRandom {
 public:
  explicit ReplayRandom(const std::optional<Generator::State>& state)
      : before_(default_generator().state()), replayed_(state.has_value()) {
    if (replayed_) default_generator().set_state(*state);
  }
  ~ReplayRandom() {
    if (replayed_) default_generator().set_state(before_);
  }
  ReplayRandom(const ReplayRandom&) = delete;
  ReplayRandom& operator=(const ReplayRandom&) = delete;

 private:
  Generator::State before_;
  bool replayed_;
};

// Copies as leaves of the recomputation's graph.
Tensors detached(const Tensors& inputs) {
  const InferenceMode recorded(false);
  return detach_all(inputs);
}

struct Recomputed {
  Tensors inputs;
  Tensors results;
};

Recomputed recompute(const Region& region, const Tensors& saved) {
  const trace::Span span("recompute");
  const CapturedTensors::AsInForward leaves(*region.captured);
  const Tensors inputs = detached(saved);
  ReplayRandom random(region.random);
  Autocast autocast(region.autocast.dtype,
                    {.enabled = region.autocast.enabled});
  const InferenceMode recorded(false);
  EnableGrad enable_grad;
  Recomputing recomputing;
  const EffectScope effects(region.effects.get(), true);
  const WatchRecomputation watch(*region.captured);
  return {inputs, region.function(inputs)};
}

void backward_through(const Tensors& results, const Tensors& gradients) {
  Tensors roots, root_gradients;
  for (std::size_t i = 0; i < results.size() && i < gradients.size(); ++i) {
    if (!results[i].defined() || !results[i].requires_grad()) continue;
    roots.push_back(results[i]);
    root_gradients.push_back(gradients[i]);
  }
  if (roots.empty()) {
    throw CheckpointError(
        "none of output has requires_grad=True, this checkpoint() is not "
        "necessary");
  }
  backward(roots, root_gradients);
}

struct ReentrantCheckpoint : Function<ReentrantCheckpoint> {
  static constexpr bool kOnceDifferentiable = true;

  static Tensors forward(FunctionContext& context, const Region& region,
                         const Tensors& inputs) {
    context.save_for_backward(inputs);
    context.saved_data["region"] = region;
    const EffectScope effects(region.effects.get(), false);
    const WatchForward watch(*region.captured);
    Tensors results = region.function(inputs);
    watch.finish();
    return results;
  }

  static Tensors backward(FunctionContext& context, const Tensors& gradients) {
    if (graph_state.graph_task->is_restricted()) {
      throw CheckpointError(
          "a reentrant checkpoint is incompatible with .grad() or with inputs "
          "of backward(); use backward() of everything");
    }
    const auto& region =
        std::any_cast<const Region&>(context.saved_data.find("region")->second);
    const auto [inputs, results] = recompute(region, context.saved_tensors());
    // Runs in the modes of the outer backward, as without a checkpoint.
    backward_through(results, gradients);
    Tensors result(1);
    for (const Tensor& input : inputs) {
      result.push_back(input.defined() ? dense_grad(input) : Tensor());
    }
    return result;
  }
};

}  // namespace

std::vector<Tensor> detach_all(const std::vector<Tensor>& tensors) {
  Tensors result;
  for (const Tensor& tensor : tensors) {
    Tensor detached;
    if (tensor.defined()) {
      detached = tensor.detach();
      if (tensor.requires_grad()) detached.set_requires_grad(true);
    }
    result.push_back(std::move(detached));
  }
  return result;
}

std::vector<Tensor> checkpoint_reentrant(
    const CheckpointedFunction& function, const std::vector<Tensor>& inputs,
    const ReentrantCheckpointOptions& options) {
  const bool any = std::any_of(
      inputs.begin(), inputs.end(),
      [](const Tensor& x) { return x.defined() && x.requires_grad(); });
  if (is_grad_enabled() && !any) {
    warn(
        "checkpoint_reentrant: None of the inputs have requires_grad=True. "
        "Gradients will be None");
  }
  Region region{function, current_autocast(), std::nullopt,
                std::make_shared<EffectLog>(),
                std::make_shared<CapturedTensors>(Storage::next_mark())};
  if (options.preserve_rng_state) region.random = default_generator().state();
  return ReentrantCheckpoint::apply(region, inputs);
}

}  // namespace hvd::autograd
