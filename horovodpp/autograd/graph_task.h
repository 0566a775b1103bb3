// SPDX-License-Identifier: Apache-2.0
// A GraphTask is one backward call: the nodes it reaches, the number of
// gradients each node still waits for, and the gradients. A node gets a dense
// number when it is reached, which indexes vectors; so several tasks can run
// through one graph.
//
// One thread uses a task at a time. The caller keeps the roots alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/autograd/graph/node.h"

namespace hvd::autograd {

class GraphTask {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = 0xffffffff;

  struct Options {
    bool retain_graph = false;
    bool create_graph = false;
    int depth = 0;
    GraphTask* parent = nullptr;  // The enclosing backward, or null.
  };

  explicit GraphTask(const Options& options);
  ~GraphTask();
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;

  // Step 1: adds a root and its incoming gradient.
  void add_root(Edge edge, Tensor gradient);
  // Step 2: finds the nodes.
  void discover();
  // Step 3, optional: limits the run to nodes that lead to `targets`. A target
  // runs itself or, with `capture`, only yields the gradient that arrives.
  void restrict_to(const std::vector<Edge>& targets, bool capture);

  // Checks, before any change, that all nodes to run still can.
  //   GraphFreedError  an earlier backward freed a node's saved tensors
  void check_not_freed() const;

  // Runs all nodes, then the callbacks.
  void run();

  // The gradients that arrived at the captured edges, in order.
  std::vector<Tensor> take_captured();
  // Whether this task reaches `node`.
  bool reaches(const Node& node) const;
  // Whether a custom Function takes part; its backward may run any code.
  bool runs_functions() const;
  // Whether the run is limited to nodes that lead to some targets.
  bool is_restricted() const { return restricted_; }
  // Whether the hooks of `node` see a gradient: it runs, or is captured.
  bool visits(const Node& node) const;
  // Storage of the owner of `key` for the life of this task; null at first.
  std::shared_ptr<void>& local(const void* key) { return locals_[key]; }
  GraphTask& outermost() {
    GraphTask* task = this;
    while (task->options_.parent != nullptr) task = task->options_.parent;
    return *task;
  }
  void queue_callback(std::function<void()> callback) {
    callbacks_.push_back(std::move(callback));
  }
  const Options& options() const { return options_; }

 private:
  struct Root {
    Edge edge;
    Tensor gradient;
  };
  struct State {
    Node* node;
    Id dependencies = 0;
    Id first_edge = 0;
    Id first_gradient = 0;
    bool needed = true;
    bool observed = false;  // Its hooks see its gradient, needed or not.
  };
  struct Ready {
    std::uint64_t priority;
    Id order;
    Id id;
    bool operator<(const Ready& other) const {
      return priority != other.priority ? priority < other.priority
                                        : order > other.order;
    }
  };
  struct Capture {
    Id id;
    std::uint32_t input_nr;
    Tensor gradient;
  };

  Id find(const Node& node) const;
  Id intern(Node* node);
  std::vector<std::vector<Id>> predecessors() const;
  bool live(Id id) const { return states_[id].needed || states_[id].observed; }

  void push_if_ready(Id id);
  void run_node(Id id);
  void run_formula(const State& state, std::span<Tensor> gradients);
  void apply_formula(Node& node, std::span<Tensor> gradients);
  void run_callbacks();
  void distribute(const State& state, std::span<Tensor> results);
  void add_gradient(Id id, std::uint32_t input_nr, Tensor gradient);
  std::span<Tensor> gradients_of(const State& state);

  const Options options_;
  const std::uint32_t number_;
  bool restricted_ = false;
  // Over all nodes found, including those that do not run.
  bool any_freed_ = false;
  std::vector<Root> roots_;
  std::vector<State> states_;
  std::vector<Id> edges_;          // Of all nodes, concatenated.
  std::vector<Tensor> gradients_;  // Likewise.
  // Nodes already claimed by another task.
  absl::flat_hash_map<const Node*, Id> shared_;
  std::vector<Capture> captures_;
  std::vector<Ready> ready_;  // A heap.
  Id next_order_ = 0;
  std::vector<Tensor> results_;  // Of the current node.
  std::vector<std::function<void()>> callbacks_;
  absl::flat_hash_map<const void*, std::shared_ptr<void>> locals_;
};

}  // namespace hvd::autograd
