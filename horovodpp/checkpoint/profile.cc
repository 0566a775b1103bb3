// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/graph/node_hooks.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/checkpoint/thread_time.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

// Counts saved tensors created since construction; the nodes keep them.
class Tally final : public SavedTensorStore {
 public:
  Kept keep(const Tensor& tensor) override {
    count(tensor);
    last_saved_ = worked_seconds();
    return {};
  }
  void count(const Tensor& tensor) {
    const Storage& storage = *tensor.impl()->storage;
    if (storage.is_older_than(mark_) || !seen_.insert(&storage).second) return;
    bytes_ += static_cast<std::int64_t>(storage.bytes());
  }
  std::int64_t bytes() const { return bytes_; }
  // The time of the last save; 0 if none.
  double last_saved() const { return last_saved_; }
  // Lives on the caller's stack.
  void retain() override {}
  void release() override {}

 private:
  const std::uint64_t mark_ = Storage::next_mark();
  absl::flat_hash_set<const Storage*> seen_;
  std::int64_t bytes_ = 0;
  double last_saved_ = 0.0;
};

// The edges where a gradient of `root` leaves the graph of nodes numbered from
// `begin` on: at leaves, and at captured tensors.
std::vector<Edge> ends_behind(const Tensor& root, std::uint64_t begin) {
  std::vector<Edge> ends;
  absl::flat_hash_set<std::pair<const Node*, std::size_t>> seen;
  std::vector<Edge> stack{gradient_edge(root)};
  while (!stack.empty()) {
    const Edge edge = std::move(stack.back());
    stack.pop_back();
    if (!edge || !seen.insert({edge.node.get(), edge.input_nr}).second) {
      continue;
    }
    const Node& node = *edge.node;
    if (node.is_accumulate_grad() || node.sequence_nr() < begin) {
      ends.push_back(edge);
    } else {
      stack.insert(stack.end(), node.next_edges().begin(),
                   node.next_edges().end());
    }
  }
  return ends;
}

// Drops ends that lie behind other ends: the path there would lead through
// graphs of others, and free them.
std::vector<Edge> nearest_of(std::vector<Edge> ends) {
  absl::flat_hash_set<const Node*> behind;
  std::vector<const Node*> stack;
  for (const Edge& end : ends) stack.push_back(end.node.get());
  while (!stack.empty()) {
    const Node& node = *stack.back();
    stack.pop_back();
    for (const Edge& edge : node.next_edges()) {
      if (edge && behind.insert(edge.node.get()).second) {
        stack.push_back(edge.node.get());
      }
    }
  }
  std::erase_if(
      ends, [&](const Edge& end) { return behind.contains(end.node.get()); });
  return ends;
}

// Restores the retained gradients of tensors at `ends` after a backward.
class SameRetainedGradients {
 public:
  explicit SameRetainedGradients(const std::vector<Edge>& ends) {
    for (const Edge& end : ends) {
      NodeHooks* const hooks = end.node->hooks();
      if (hooks == nullptr) continue;
      SpinLockHolder lock(hooks->retains_lock);
      for (const NodeHooks::Retain& retain : hooks->retains) {
        Tensor tensor = retain.tensor.lock();
        if (!tensor.defined()) continue;
        Tensor gradient = meta_of(tensor).grad;
        before_.push_back({std::move(tensor), std::move(gradient)});
      }
    }
  }
  ~SameRetainedGradients() {
    for (auto& [tensor, gradient] : before_) {
      meta_of(tensor).grad = std::move(gradient);
    }
  }
  SameRetainedGradients(const SameRetainedGradients&) = delete;
  SameRetainedGradients& operator=(const SameRetainedGradients&) = delete;

 private:
  std::vector<std::pair<Tensor, Tensor>> before_;
};

std::int64_t in_use() { return cpu_allocator().stats().current_bytes; }
std::int64_t most_in_use() { return cpu_allocator().stats().peak_bytes; }

std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.defined() ? static_cast<std::int64_t>(tensor.bytes()) : 0;
}

// The fastest of several runs. Other programs can only lengthen a run, even in
// CPU time, since they share caches and execution units.
class Seconds {
 public:
  void add(double seconds) { least_ = std::min(least_, seconds); }
  double least() const { return std::isinf(least_) ? 0.0 : least_; }

 private:
  double least_ = std::numeric_limits<double>::infinity();
};

// The repeated measurement of one way of a stage.
class WayProfile {
 public:
  explicit WayProfile(const ChainFunction& function) : function_(function) {}

  // Returns the result for `input`, without history.
  Tensor run(const Tensor& input) {
    Tensor output = forward(input);
    if (output.requires_grad()) backward(input, output);
    Tensor bare = output.detach();
    bare.set_requires_grad(output.requires_grad());
    return bare;
  }

  StageCost cost() const {
    StageCost result = cost_;
    result.forward_seconds = forward_.least();
    result.backward_seconds = backward_.least();
    result.options = {
        {.bytes = kept_,
         .tail_seconds = std::min(tail_.least(), result.forward_seconds)}};
    return result;
  }
  std::int64_t gradient_bytes() const { return gradient_bytes_; }

 private:
  Tensor forward(const Tensor& input) {
    Tally tally;
    const SavedTensorStore::Scope store(tally);
    cpu_allocator().reset_peak();
    const std::int64_t before = in_use();
    const double begin = worked_seconds();
    first_node_ = graph_state.next_sequence;
    Tensor output = function_(input);
    if (!output.defined()) {
      throw InvalidArgument(
          "profile_chain: a function returns an undefined tensor; each has to "
          "return the input of the next");
    }
    const double end = worked_seconds();
    forward_.add(end - begin);
    tail_.add(end - std::max(begin, tally.last_saved()));
    const std::int64_t saved = tally.bytes();
    tally.count(output);
    kept_ = tally.bytes();
    // A stage may return a saved tensor or its input, which adds no memory.
    cost_.output_bytes = bytes_of(output);
    kept_ = std::max(kept_, std::max(saved, cost_.output_bytes));
    cost_.forward_transient_bytes =
        std::max<std::int64_t>(0, most_in_use() - before - kept_);
    return output;
  }

  void backward(const Tensor& input, const Tensor& output) {
    const Tensor gradient = ones_like(output.detach());
    const std::vector<Edge> ends = nearest_of(ends_behind(output, first_node_));
    const SameRetainedGradients same(ends);
    cpu_allocator().reset_peak();
    const std::int64_t before = in_use();
    const double begin = worked_seconds();
    const std::vector<Tensor> gradients =
        grad_at({output}, ends, {gradient}, {.allow_unused = true});
    backward_.add(worked_seconds() - begin);
    std::int64_t of_parameters = 0;
    const Edge own = input.requires_grad() ? gradient_edge(input) : Edge();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].node == own.node) continue;
      of_parameters += bytes_of(gradients[i]);
    }
    cost_.backward_transient_bytes =
        std::max<std::int64_t>(0, most_in_use() - before - of_parameters);
    gradient_bytes_ = of_parameters;
  }

  const ChainFunction& function_;
  std::uint64_t first_node_ = 0;  // Number of the function's first node.
  StageCost cost_;
  std::int64_t kept_ = 0;
  std::int64_t gradient_bytes_ = 0;  // Of parameters.
  Seconds forward_, tail_, backward_;
};

// The measurements of a stage in all its ways.
struct StageProfile {
  explicit StageProfile(const ChainStage& stage) : whole(stage.function) {
    for (const ChainFunction& way : stage.leaner) leaner.emplace_back(way);
  }
  WayProfile whole;
  std::vector<WayProfile> leaner;
};

// Adds the cost of `leaner` as another option of `whole`.
void add_option(StageCost& whole, const StageCost& leaner) {
  const double extra = leaner.forward_seconds + leaner.backward_seconds -
                       whole.forward_seconds - whole.backward_seconds;
  const std::int64_t more = std::max(
      leaner.forward_transient_bytes - whole.forward_transient_bytes,
      leaner.backward_transient_bytes - whole.backward_transient_bytes);
  whole.options.push_back(
      {.bytes = leaner.options[0].bytes,
       .extra_seconds = std::max(0.0, extra),
       .tail_seconds =
           std::min(leaner.options[0].tail_seconds, whole.forward_seconds),
       .extra_transient_bytes = std::max<std::int64_t>(0, more)});
}

// Restores the generator when destroyed.
class SameRandom {
 public:
  SameRandom() : state_(default_generator().state()) {}
  ~SameRandom() { default_generator().set_state(state_); }
  SameRandom(const SameRandom&) = delete;
  SameRandom& operator=(const SameRandom&) = delete;

 private:
  const Generator::State state_;
};

}  // namespace
}  // namespace autograd

ChainCost profile_chain(const std::vector<ChainFunction>& functions,
                        const Tensor& input, const ProfileOptions& options) {
  return profile_chain(autograd::as_stages(functions), input, options);
}

ChainCost profile_chain(const std::vector<ChainStage>& stages,
                        const Tensor& input, const ProfileOptions& options) {
  autograd::check_stages(stages, "profile_chain");
  if (stages.empty() || options.repetitions < 1) {
    throw InvalidArgument(absl::StrCat(
        "profile_chain: ", stages.size(), " functions, ", options.repetitions,
        " repetitions; wanted is at least one of each"));
  }
  if (!(options.communication_seconds_per_byte >= 0.0) ||
      !std::isfinite(options.communication_seconds_per_byte)) {
    throw InvalidArgument(absl::StrCat("profile_chain: communication takes ",
                                       options.communication_seconds_per_byte,
                                       " seconds per byte"));
  }
  const autograd::SameRandom random;
  const autograd::Recomputing recomputing;
  const EnableGrad grad;
  std::vector<autograd::StageProfile> profiles(stages.begin(), stages.end());
  // Repeats the whole chain, so that the runs of a stage are far apart: a
  // disturbance of the machine rarely hits all of them.
  for (int i = 0; i < options.repetitions; ++i) {
    Tensor x = input.detach();
    if (input.requires_grad()) x.set_requires_grad(true);
    for (autograd::StageProfile& stage : profiles) {
      for (autograd::WayProfile& way : stage.leaner) way.run(x);
      x = stage.whole.run(x);
    }
  }
  ChainCost result{.input_bytes = autograd::bytes_of(input), .stages = {}};
  for (const auto& [whole, leaner] : profiles) {
    StageCost& cost = result.stages.emplace_back(whole.cost());
    cost.communication_seconds = options.communication_seconds_per_byte *
                                 static_cast<double>(whole.gradient_bytes());
    for (const autograd::WayProfile& way : leaner) {
      autograd::add_option(cost, way.cost());
    }
  }
  return result;
}

}  // namespace hvd
