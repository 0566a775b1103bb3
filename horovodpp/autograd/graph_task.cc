// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph_task.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "horovodpp/autograd/anomaly.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/gradient_checks.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node_hooks.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/autograd/record/function_node.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/gradient_home.h"

namespace hvd::autograd {
namespace {

// Never 0, which means no task.
std::uint32_t next_task_number() {
  static std::atomic<std::uint32_t> next{1};
  std::uint32_t number = 0;
  while (number == 0) number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// Whether only the engine can see this gradient, so that it may add into its
// memory.
bool is_private(const Tensor& gradient) {
  const TensorImpl& impl = *gradient.impl();
  return impl.unique() && impl.storage->unique() && !impl.storage->exposed() &&
         impl.contiguous;
}

}  // namespace

GraphTask::GraphTask(const Options& options)
    : options_(options), number_(next_task_number()) {}

GraphTask::~GraphTask() {
  for (const State& state : states_) {
    auto& claim = state.node->claim();
    if (claim.load(std::memory_order_relaxed) >> 32 == number_) {
      claim.store(0, std::memory_order_relaxed);
    }
  }
}

GraphTask::Id GraphTask::find(const Node& node) const {
  const std::uint64_t claim =
      const_cast<Node&>(node).claim().load(std::memory_order_relaxed);
  if (claim >> 32 == number_) return static_cast<Id>(claim);
  if (shared_.empty()) return kNone;
  const auto found = shared_.find(&node);
  return found == shared_.end() ? kNone : found->second;
}

GraphTask::Id GraphTask::intern(Node* node) {
  if (const Id id = find(*node); id != kNone) return id;
  const Id id = static_cast<Id>(states_.size());
  std::uint64_t unclaimed = 0;
  if (!node->claim().compare_exchange_strong(
          unclaimed, (std::uint64_t{number_} << 32) | id,
          std::memory_order_relaxed)) {
    shared_.emplace(node, id);
  }
  any_freed_ |= node->is_freed();
  State& state = states_.emplace_back(State{.node = node});
  state.first_gradient = static_cast<Id>(gradients_.size());
  gradients_.resize(gradients_.size() + node->inputs().size());
  return id;
}

void GraphTask::add_root(Edge edge, Tensor gradient) {
  roots_.push_back({std::move(edge), std::move(gradient)});
}

void GraphTask::discover() {
  for (const Root& root : roots_) intern(root.edge.node.get());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].first_edge = static_cast<Id>(edges_.size());
    for (const Edge& edge : states_[i].node->next_edges()) {
      const Id id = edge ? intern(edge.node.get()) : kNone;
      edges_.push_back(id);
      if (id != kNone) ++states_[id].dependencies;
    }
  }
}

std::vector<std::vector<GraphTask::Id>> GraphTask::predecessors() const {
  std::vector<std::vector<Id>> result(states_.size());
  for (Id id = 0; id < states_.size(); ++id) {
    const State& state = states_[id];
    for (std::size_t k = 0; k < state.node->next_edges().size(); ++k) {
      const Id next = edges_[state.first_edge + k];
      if (next != kNone) result[next].push_back(id);
    }
  }
  return result;
}

// Marks every node that leads to a target, by a search back from the targets.
void GraphTask::restrict_to(const std::vector<Edge>& targets, bool capture) {
  restricted_ = true;
  for (State& state : states_) state.needed = false;
  const auto before = predecessors();
  std::vector<Id> stack;
  for (const Edge& target : targets) {
    const Id id = find(*target.node);
    if (capture) captures_.push_back({id, target.input_nr, Tensor()});
    if (id == kNone) continue;
    if (capture) {
      states_[id].observed = true;
    } else {
      states_[id].needed = true;
    }
    stack.push_back(id);
  }
  std::vector<bool> visited(states_.size(), false);
  while (!stack.empty()) {
    const Id id = stack.back();
    stack.pop_back();
    if (visited[id]) continue;
    visited[id] = true;
    for (const Id previous : before[id]) {
      states_[previous].needed = true;
      stack.push_back(previous);
    }
  }
  // As in PyTorch, the hooks of a single root run wherever it leads.
  if (roots_.size() == 1) {
    states_[find(*roots_.front().edge.node)].observed = true;
  }
}

void GraphTask::check_not_freed() const {
  if (!any_freed_) return;
  for (const State& state : states_) {
    if (state.needed && state.node->is_freed()) throw_graph_freed(*state.node);
  }
}

std::span<Tensor> GraphTask::gradients_of(const State& state) {
  return std::span<Tensor>(gradients_)
      .subspan(state.first_gradient, state.node->inputs().size());
}

void GraphTask::push_if_ready(Id id) {
  if (states_[id].dependencies != 0 || !live(id)) return;
  ready_.push_back({states_[id].node->sequence_nr(), next_order_++, id});
  std::push_heap(ready_.begin(), ready_.end());
}

void GraphTask::run() {
  for (Root& root : roots_) {
    add_gradient(find(*root.edge.node), root.edge.input_nr,
                 std::move(root.gradient));
  }
  // A node that is a root twice, or reachable from another root, runs once.
  std::vector<Id> starts;
  for (const Root& root : roots_) {
    const Id id = find(*root.edge.node);
    if (std::find(starts.begin(), starts.end(), id) == starts.end()) {
      starts.push_back(id);
      push_if_ready(id);
    }
  }
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end());
    const Id id = ready_.back().id;
    ready_.pop_back();
    run_node(id);
  }
  run_callbacks();
}

void GraphTask::run_node(Id id) {
  const State& state = states_[id];
  const std::span<Tensor> gradients = gradients_of(state);
  const bool any = std::any_of(gradients.begin(), gradients.end(),
                               [](const Tensor& g) { return g.defined(); });
  if (any) run_tensor_hooks(*state.node, gradients);
  if (state.observed) {
    for (Capture& capture : captures_) {
      if (capture.id == id) capture.gradient = gradients[capture.input_nr];
    }
  }
  if (!state.needed) {
    std::fill(gradients.begin(), gradients.end(), Tensor());
    return;
  }
  results_.clear();
  results_.resize(state.node->next_edges().size());
  if (any) run_formula(state, gradients);
  std::fill(gradients.begin(), gradients.end(), Tensor());
  distribute(state, results_);
}

void GraphTask::run_formula(const State& state, std::span<Tensor> gradients) {
  Node& node = *state.node;
  NodeHooks* hooks = node.hooks();
  std::vector<Tensor> seen;
  if (hooks != nullptr) {
    if (!hooks->pre.empty()) expose(gradients);
    hooks->pre.for_each([&](const auto& hook) { hook(gradients); });
    if (!hooks->post.empty()) {
      expose(gradients);
      // An accumulator can take over its gradient only as the sole owner.
      if (!node.is_accumulate_grad()) {
        seen.assign(gradients.begin(), gradients.end());
      }
    }
  }
  apply_formula(node, gradients);
  if (!options_.retain_graph) node.free_saved();
  if (hooks == nullptr) return;
  hooks->post.for_each([&](const auto& hook) { hook(results_, seen); });
}

// Creates the gradient of a leaf directly in its home.
void GraphTask::apply_formula(Node& node, std::span<Tensor> gradients) {
  std::optional<ExpectedGradients> expected;
  if (GradientHome::any()) {
    expected.emplace();
    for (const Edge& edge : node.next_edges()) {
      if (!edge || !edge.node->is_accumulate_grad()) continue;
      auto& leaf = static_cast<const AccumulateGrad&>(*edge.node);
      if (GradientHome* home = leaf.home_of_next()) expected->add(*home);
    }
  }
  if (graph_state.detect_anomaly) {
    apply_watched(node, gradients, results_);
  } else {
    node.apply(gradients, results_);
  }
}

void GraphTask::distribute(const State& state, std::span<Tensor> results) {
  const auto edges = state.node->next_edges();
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Id next = edges_[state.first_edge + k];
    if (next == kNone) continue;
    if (results[k].defined() && live(next)) {
      const std::uint32_t input_nr = edges[k].input_nr;
      add_gradient(
          next, input_nr,
          fitted_gradient(std::move(results[k]), edges[k], *state.node, k));
    }
    --states_[next].dependencies;
    push_if_ready(next);
  }
}

void GraphTask::add_gradient(Id id, std::uint32_t input_nr, Tensor gradient) {
  Tensor& slot = gradients_[states_[id].first_gradient + input_nr];
  if (!slot.defined()) {
    slot = std::move(gradient);
  } else if (is_sparse_gradient(slot) || is_sparse_gradient(gradient)) {
    slot = sum_with_sparse(slot, gradient);
  } else if (!is_grad_enabled() && is_private(slot)) {
    slot.add_(gradient);
  } else if (!is_grad_enabled() && is_private(gradient)) {
    gradient.add_(slot);
    slot = std::move(gradient);
  } else {
    slot = add(slot, gradient);
  }
}

void GraphTask::run_callbacks() {
  // By index: a callback may queue another.
  for (std::size_t i = 0; i < callbacks_.size(); ++i) {
    const auto callback = std::move(callbacks_[i]);
    callback();
  }
}

std::vector<Tensor> GraphTask::take_captured() {
  std::vector<Tensor> result;
  for (Capture& capture : captures_) {
    result.push_back(as_dense(capture.gradient));
  }
  return result;
}

bool GraphTask::reaches(const Node& node) const {
  const Id id = find(node);
  return id != kNone && states_[id].needed;
}

bool GraphTask::runs_functions() const {
  return std::any_of(states_.begin(), states_.end(), [](const State& state) {
    return state.needed &&
           dynamic_cast<const FunctionNode*>(state.node) != nullptr;
  });
}

bool GraphTask::visits(const Node& node) const {
  const Id id = find(node);
  return id != kNone && live(id);
}

}  // namespace hvd::autograd
