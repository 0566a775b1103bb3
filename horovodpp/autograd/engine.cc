// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/engine.h"

#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph_task.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/thread_snapshot.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/tensor/base/hook_list.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

// A nested backward uses the same stack. Beyond this depth, the next one runs
// on a new thread.
constexpr int kDepthPerThread = 64;

HookList<BackwardObserver>& observers() {
  static auto* list = new HookList<BackwardObserver>;
  return *list;
}

// Sets the engine's part of the graph state while one task runs.
class TaskScope {
 public:
  explicit TaskScope(GraphTask& task)
      : mode_(task.options().create_graph),
        outer_(std::exchange(graph_state.graph_task, &task)),
        outer_depth_(std::exchange(graph_state.backward_depth,
                                   task.options().depth + 1)) {}
  ~TaskScope() {
    graph_state.graph_task = outer_;
    graph_state.backward_depth = outer_depth_;
  }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

 private:
  SetGradEnabled mode_;
  GraphTask* const outer_;
  const int outer_depth_;
};

void run_here(GraphTask& task) {
  TaskScope scope(task);
  task.run();
}

void run_on_new_thread(GraphTask& task) {
  const ThreadSnapshot snapshot = ThreadSnapshot::capture();
  std::uint64_t next_sequence = graph_state.next_sequence;
  std::exception_ptr failure;
  const auto body = [&] {
    ThreadSnapshot::Scope scope(snapshot);
    graph_state.next_sequence = next_sequence;
    try {
      run_here(task);
    } catch (...) {
      failure = std::current_exception();
    }
    next_sequence = graph_state.next_sequence;
  };
  value_or_throw(start_thread("runs a nested backward", body)).join();
  graph_state.next_sequence = next_sequence;
  if (failure) std::rethrow_exception(failure);
}

void run(GraphTask& task) {
  const int depth = task.options().depth;
  std::optional<trace::Span> span;
  if (depth == 0) span.emplace("backward");
  if (depth > 0 && depth % kDepthPerThread == 0) {
    run_on_new_thread(task);
  } else {
    run_here(task);
  }
}

Tensor root_gradient(const Tensor& root, const Tensor& given,
                     const Edge& edge) {
  if (!given.defined()) {
    if (root.num_elements() != 1) {
      throw NonScalarError(absl::StrCat(
          "grad can be implicitly created only for scalar outputs; pass a "
          "gradient for this ",
          root.describe()));
    }
    return ones_like(root);
  }
  if (given.shape() != root.shape()) {
    throw InvalidArgument(absl::StrCat(
        "Mismatch in shape: the gradient has shape ", given.shape().to_string(),
        " and the tensor it is for has shape ", root.shape().to_string()));
  }
  const DType dtype = edge.node->inputs()[edge.input_nr].dtype;
  return given.dtype() == dtype ? given : given.to(dtype);
}

void add_roots(GraphTask& task, const std::vector<Tensor>& roots,
               const std::vector<Tensor>& gradients) {
  if (!gradients.empty() && gradients.size() != roots.size()) {
    throw InvalidArgument(absl::StrCat("backward: ", roots.size(),
                                       " tensors and ", gradients.size(),
                                       " gradients"));
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i].defined()) {
      throw InvalidArgument(
          absl::StrCat("backward: tensor ", i, " is undefined"));
    }
    Edge edge = gradient_edge(roots[i]);
    if (!edge) {
      throw NotDifferentiableError(absl::StrCat(
          "element ", i,
          " of the tensors to run backward from does not require grad and does "
          "not have a grad_fn"));
    }
    Tensor gradient = root_gradient(
        roots[i], gradients.empty() ? Tensor() : gradients[i], edge);
    task.add_root(std::move(edge), std::move(gradient));
  }
}

std::vector<Edge> edges_of(const std::vector<Tensor>& inputs) {
  std::vector<Edge> edges;
  for (const Tensor& input : inputs) {
    Edge edge = input.defined() ? gradient_edge(input) : Edge();
    if (!edge) {
      throw NotDifferentiableError(
          "One of the differentiated tensors does not require grad");
    }
    edges.push_back(std::move(edge));
  }
  return edges;
}

GraphTask::Options task_options(std::optional<bool> retain_graph,
                                bool create_graph) {
  return {.retain_graph = retain_graph.value_or(create_graph),
          .create_graph = create_graph,
          .depth = graph_state.backward_depth,
          .parent = graph_state.graph_task};
}

void notify_start(const BackwardPlan& plan) {
  observers().for_each([&](const BackwardObserver& observer) {
    if (observer.on_start) observer.on_start(plan);
  });
}

void notify_end(const BackwardPlan& plan) {
  observers().for_each([&](const BackwardObserver& observer) {
    if (observer.on_end) observer.on_end(plan);
  });
}

// Calls every observer; the original failure is the one reported.
void notify_end_of_failed(const BackwardPlan& plan) noexcept {
  observers().for_each([&](const BackwardObserver& observer) {
    try {
      if (observer.on_end) observer.on_end(plan);
    } catch (...) {
    }
  });
}

}  // namespace

bool BackwardPlan::reaches(const Tensor& leaf) const {
  if (!leaf.defined()) return false;
  const Ref<Node> node = existing_grad_accumulator(leaf);
  // Checks in this order: another program may freeze its leaf meanwhile.
  return node && task_.reaches(*node) && leaf.requires_grad();
}

bool BackwardPlan::may_reach_more() const { return task_.runs_functions(); }

int BackwardPlan::depth() const { return task_.options().depth; }

HookHandle add_backward_observer(BackwardObserver observer) {
  return observers().add(std::move(observer));
}

void backward(const std::vector<Tensor>& roots,
              const std::vector<Tensor>& gradients,
              const BackwardOptions& options) {
  if (options.create_graph) {
    warn_once("backward(create_graph)",
              "backward() with create_graph makes every grad() own the graph "
              "that owns its leaf. Reset the grad() to free this cycle, or "
              "call grad(), which makes no cycle");
  }
  GraphTask task(task_options(options.retain_graph, options.create_graph));
  add_roots(task, roots, gradients);
  task.discover();
  std::vector<Edge> targets;
  if (options.inputs) {
    if (options.inputs->empty()) {
      throw InvalidArgument("backward: inputs cannot be empty");
    }
    targets = edges_of(*options.inputs);
    task.restrict_to(targets, false);
  }
  task.check_not_freed();
  if (options.inputs) {
    for (const Tensor& input : *options.inputs) input.retain_grad();
  }
  BackwardPlan plan(task);
  notify_start(plan);
  try {
    run(task);
  } catch (...) {
    notify_end_of_failed(plan);
    throw;
  }
  plan.completed_ = true;
  notify_end(plan);
}

std::vector<Tensor> grad_at(const std::vector<Tensor>& outputs,
                            const std::vector<Edge>& edges,
                            const std::vector<Tensor>& gradients,
                            const GradOptions& options) {
  GraphTask task(task_options(options.retain_graph, options.create_graph));
  add_roots(task, outputs, gradients);
  task.discover();
  task.restrict_to(edges, true);
  task.check_not_freed();
  run(task);
  std::vector<Tensor> result = task.take_captured();
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (options.materialize_grads) {
      const InputMetadata& wanted = edges[i].node->inputs()[edges[i].input_nr];
      result[i] = zeros(wanted.shape, {.dtype = wanted.dtype,
                                       .requires_grad = options.create_graph});
    } else if (!options.allow_unused) {
      throw NotDifferentiableError(
          absl::StrCat("One of the differentiated tensors, input ", i,
                       ", appears to not have been used in the graph. Set "
                       "allow_unused if this is the desired behavior"));
    }
  }
  return result;
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                         const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients,
                         const GradOptions& options) {
  return grad_at(outputs, edges_of(inputs), gradients, options);
}

void queue_callback(std::function<void()> callback, CallbackTime time) {
  if (graph_state.graph_task == nullptr) {
    throw AutogradError(
        "queue_callback: callbacks can only be queued during a backward");
  }
  GraphTask& innermost = *graph_state.graph_task;
  (time == CallbackTime::kInnermost ? innermost : innermost.outermost())
      .queue_callback(std::move(callback));
}

}  // namespace hvd::autograd
