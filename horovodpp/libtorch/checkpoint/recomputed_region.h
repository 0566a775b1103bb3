// SPDX-License-Identifier: Apache-2.0
// A RecomputedRegion is a function whose saved tensors are recomputed when
// backward asks for the first of them.
//
// Forward leaves a place for each saved tensor. Backward, when it needs one,
// runs the function again, whose saved tensors fill the places in order; each
// is then returned once. A place whose operation is gone is skipped. Tensors
// that a backward pass has not asked for are freed when it ends.
//
// Any thread may run backward; one at a time recomputes.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/checkpoint/ambient_state.h"
#include "horovodpp/libtorch/checkpoint/checkpoint_options.h"
#include "horovodpp/libtorch/checkpoint/saved_place.h"
#include "horovodpp/libtorch/checkpoint/saved_tensor_hooks.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/span.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// Ends a recomputation that has made everything needed. (libtorch's engine lets
// only exceptions derived from std::exception pass.)
class ReplayIsComplete : public std::exception {};

inline int& recomputations_of_thread() {
  thread_local int depth = 0;
  return depth;
}

class RecomputedRegion : public std::enable_shared_from_this<RecomputedRegion> {
 public:
  RecomputedRegion(const CheckpointOptions& options,
                   const std::vector<torch::Tensor>& inputs)
      : options_(options), first_node_(at::sequence_number::peek()) {
    for (const torch::Tensor& input : inputs) {
      inputs_.emplace_back(input, /*is_output=*/false);
      if (!input.defined()) continue;
      if (input.grad_fn() != nullptr) {
        outside_.insert(input.grad_fn().get());
      } else if (input.requires_grad()) {
        accumulators_.push_back(torch::autograd::impl::grad_accumulator(input));
      }
    }
    if (options_.preserve_rng_state) {
      ambient_.generators = GeneratorStates(devices_of(inputs));
    }
  }
  virtual ~RecomputedRegion() = default;
  RecomputedRegion(const RecomputedRegion&) = delete;
  RecomputedRegion& operator=(const RecomputedRegion&) = delete;

  // While it lives, forward leaves a place for each tensor it saves.
  class Forward;

  // Ends forward, which has made `results`.
  void complete(const std::vector<torch::Tensor>& results) {
    is_complete_ = true;
    find_captured(results);
    outside_.clear();
  }

 private:
  class Place;     // Stands for a tensor that forward saved.
  class Replay;    // Fills places while it lives.
  class Replayed;  // Keeps a tensor of a recomputation.

  virtual void call_again(std::vector<torch::Tensor> inputs) = 0;

  static std::vector<at::Device> devices_of(
      const std::vector<torch::Tensor>& inputs) {
    std::vector<at::Device> devices = {at::kCPU};
    for (const torch::Tensor& input : inputs) {
      if (!input.defined() || input.device().is_cpu()) continue;
      if (std::find(devices.begin(), devices.end(), input.device()) ==
          devices.end()) {
        devices.push_back(input.device());
      }
    }
    return devices;
  }

  std::shared_ptr<SavedPlace> add_place(const torch::Tensor& tensor) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    auto place = std::make_shared<SavedPlace>(
        TensorFacts::of(tensor, options_.determinism_check));
    places_.push_back(place);
    return place;
  }

  // Finds the parameters that the function used without receiving them as
  // arguments: leaves of the graph that it has made.
  void find_captured(const std::vector<torch::Tensor>& results) {
    std::vector<torch::autograd::Node*> waiting;
    std::unordered_set<torch::autograd::Node*> seen;
    const auto visit = [&](torch::autograd::Node* node) {
      if (node != nullptr && outside_.count(node) == 0 &&
          seen.insert(node).second) {
        waiting.push_back(node);
      }
    };
    for (const torch::Tensor& result : results) {
      if (result.defined()) visit(result.grad_fn().get());
    }
    while (!waiting.empty()) {
      torch::autograd::Node* const node = waiting.back();
      waiting.pop_back();
      if (auto* leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(node)) {
        captured_.emplace_back(leaf->variable, leaf->variable._version());
      } else if (node->sequence_nr() >= first_node_) {
        for (const auto& edge : node->next_edges()) visit(edge.function.get());
      }
    }
  }

  void check_captured() const {
    for (const auto& [tensor, version] : captured_) {
      if (tensor._version() == version) continue;
      throw CheckpointError(
          "a parameter of " +
          TensorFacts::of(tensor, DeterminismCheck::kNone).text() +
          " that a checkpointed function uses was modified in place between "
          "forward and its recomputation: its version was " +
          std::to_string(version) + " and is " +
          std::to_string(tensor._version()) +
          ". Call backward() before optimizer.step()");
    }
  }

  torch::Tensor hand_out(SavedPlace& place) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const void* const pass =
        torch::autograd::get_current_graph_task_exec_info();
    if (pass == nullptr) {  // Outside of a pass, recompute each time.
      recompute(&place);
      torch::Tensor tensor = place.take(&place);
      forget(&place);
      return tensor;
    }
    if (std::find(passes_.begin(), passes_.end(), pass) == passes_.end()) {
      recompute(pass);
      passes_.push_back(pass);
      torch::autograd::Engine::get_default_engine().queue_callback(
          [region = weak_from_this(), pass] {
            if (const auto found = region.lock()) found->end_pass(pass);
          });
    }
    torch::Tensor tensor = place.take(pass);
    if (!tensor.defined()) {
      throw CheckpointError(
          "a tensor that a checkpointed function saved was unpacked twice in "
          "one backward pass: a custom function must unpack its saved tensors "
          "once");
    }
    return tensor;
  }

  void end_pass(const void* pass) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    passes_.erase(std::remove(passes_.begin(), passes_.end(), pass),
                  passes_.end());
    forget(pass);
  }
  void forget(const void* pass) {
    for (const auto& each : places_) {
      if (const auto place = each.lock()) place->take(pass);
    }
  }

  void recompute(const void* pass);
  void check_filled(const void* pass, std::size_t saved) const;

  const CheckpointOptions options_;
  const std::uint64_t first_node_;  // The function's nodes begin here.
  std::vector<torch::autograd::SavedVariable> inputs_;
  // Of inputs that are leaves: a saved leaf must have its own.
  std::vector<decltype(torch::autograd::Edge::function)> accumulators_;
  std::unordered_set<torch::autograd::Node*> outside_;  // They made the inputs.
  AmbientState ambient_;
  std::vector<std::pair<torch::Tensor, std::int64_t>>
      captured_;              // With its version.
  bool is_complete_ = false;  // Of forward.

  std::recursive_mutex mutex_;
  std::vector<std::weak_ptr<SavedPlace>> places_;
  std::vector<const void*> passes_;  // Passes that filled places.
};

class RecomputedRegion::Place final : public SavedHooks {
 public:
  explicit Place(std::shared_ptr<RecomputedRegion> region)
      : region_(std::move(region)) {}
  void call_pack_hook(const torch::Tensor& tensor) override {
    place_ = region_->add_place(tensor);
  }
  torch::Tensor call_unpack_hook() override {
    return region_->hand_out(*place_);
  }

 private:
  const std::shared_ptr<RecomputedRegion> region_;
  std::shared_ptr<SavedPlace> place_;
};

class RecomputedRegion::Forward final : public SavedTensorHooks {
 public:
  explicit Forward(RecomputedRegion& region) : region_(region) {}
  std::unique_ptr<SavedHooks> make_hooks() override {
    return std::make_unique<Place>(region_.shared_from_this());
  }

 private:
  RecomputedRegion& region_;
};

class RecomputedRegion::Replay final : public SavedTensorHooks {
 public:
  Replay(RecomputedRegion& region, const void* pass)
      : region_(region), pass_(pass) {
    ++recomputations_of_thread();
  }
  ~Replay() override { --recomputations_of_thread(); }

  std::unique_ptr<SavedHooks> make_hooks() override;

  // Handles the next saved tensor.
  void fill(const torch::Tensor& tensor) {
    const auto& places = region_.places_;
    const std::size_t at = saved_++;
    if (at < places.size()) {
      if (const auto place = places[at].lock()) place->fill(pass_, tensor);
    }
    if (region_.options_.early_stop && region_.is_complete_ &&
        saved_ == places.size()) {
      throw ReplayIsComplete();
    }
  }

  std::size_t saved() const { return saved_; }

 private:
  RecomputedRegion& region_;
  const void* const pass_;
  std::size_t saved_ = 0;
};

class RecomputedRegion::Replayed final : public SavedHooks {
 public:
  explicit Replayed(Replay& replay) : replay_(&replay) {}
  void call_pack_hook(const torch::Tensor& tensor) override {
    tensor_ = tensor.detach();
    replay_->fill(tensor_);
  }
  torch::Tensor call_unpack_hook() override { return tensor_; }

 private:
  Replay* const replay_;  // Lives while tensors are packed.
  torch::Tensor tensor_;
};

inline std::unique_ptr<SavedHooks> RecomputedRegion::Replay::make_hooks() {
  return std::make_unique<Replayed>(*this);
}

inline void RecomputedRegion::recompute(const void* pass) {
  const Span span("recompute");
  check_captured();
  std::vector<torch::Tensor> inputs;
  for (const auto& input : inputs_) inputs.push_back(input.unpack());
  std::vector<torch::Tensor> buffers;
  for (const torch::Tensor& buffer : options_.buffers) {
    buffers.push_back(buffer.tensor_data().clone());
  }
  std::size_t saved = 0;
  {
    const AmbientScope ambient(ambient_);
    const torch::AutoGradMode records(true);
    Replay replay(*this, pass);
    try {
      call_again(std::move(inputs));
    } catch (const ReplayIsComplete&) {
      // All places are filled.
    }
    saved = replay.saved();
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    options_.buffers[i].tensor_data().copy_(buffers[i]);
  }
  check_filled(pass, saved);
}

inline void RecomputedRegion::check_filled(const void* pass,
                                           std::size_t saved) const {
  // A backward pass within the function runs before forward has saved all
  // tensors.
  const bool is_strict =
      is_complete_ && options_.determinism_check != DeterminismCheck::kNone;
  if (saved < places_.size() || (is_strict && saved > places_.size())) {
    throw CheckpointError(
        "a checkpointed function saved " + std::to_string(places_.size()) +
        " tensors for backward in forward, and " + std::to_string(saved) +
        " when it was run again: a different number of tensors was saved. It "
        "must do the same each time");
  }
  if (!is_strict) return;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto place = places_[i].lock();
    if (place == nullptr) continue;
    const TensorFacts now =
        TensorFacts::of(*place->find(pass), options_.determinism_check);
    if (now == place->facts()) continue;
    throw CheckpointError(
        "a checkpointed function saved other tensors when it was run again: "
        "they have different metadata. That at position " +
        std::to_string(i) + " was " + place->facts().text() + ", and is " +
        now.text());
  }
}

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
