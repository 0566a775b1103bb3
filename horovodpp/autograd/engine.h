// SPDX-License-Identifier: Apache-2.0
// The backward pass through a graph.
//
//   loss.backward({}, {.retain_graph = true});
//   std::vector<hvd::Tensor> g = hvd::autograd::grad({z}, {x, y});
//
// A backward call runs on the calling thread, in an order that depends only on
// the graph. Among nodes with complete gradients, leaves run first, then the
// node recorded last. Several threads may run backward at once, also through
// one graph if all calls but the last retain it. A hook or a node may call
// backward itself, to any depth.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

struct BackwardOptions {
  // Whether the graph can run backward again. Default: create_graph.
  std::optional<bool> retain_graph = std::nullopt;
  // Whether the computation of the gradients is recorded, so that gradients can
  // be differentiated.
  bool create_graph = false;
  // If given, only these tensors get a grad(); they need not be leaves.
  std::optional<std::vector<Tensor>> inputs = std::nullopt;
};

// Adds the gradient of sum_i roots[i]·gradients[i] to the grad() of every leaf.
// An undefined or missing gradient stands for 1.
//   NonScalarError          a gradient is missing for a root of more than one
//                           element
//   NotDifferentiableError  a root does not require grad
//   InvalidArgument         a gradient has not its root's shape; `inputs` is
//                           empty; a root is undefined
//   GraphFreedError         the graph was not retained by an earlier backward
//   VersionError            a saved tensor was modified in place
// and any exception of a node or a hook.
void backward(const std::vector<Tensor>& roots,
              const std::vector<Tensor>& gradients = {},
              const BackwardOptions& options = {});

struct GradOptions {
  std::optional<bool> retain_graph = std::nullopt;  // By default: create_graph.
  bool create_graph = false;
  // Whether an input that the outputs do not depend on is an error, or has an
  // undefined gradient.
  bool allow_unused = false;
  // An unused input has a gradient of zeros, for any allow_unused.
  bool materialize_grads = false;
};

// The gradients of sum_i outputs[i]·gradients[i] with respect to `inputs`;
// changes no grad(). Errors of backward(), and
//   NotDifferentiableError  an input does not require grad or, unless allowed,
//                           is not used ("Set allow_unused")
std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                         const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients = {},
                         const GradOptions& options = {});

// As grad(), with respect to the gradients that arrive at `edges` (record.h).
// An edge taken before an in-place write gives the gradient of the tensor
// before that write.
std::vector<Tensor> grad_at(const std::vector<Tensor>& outputs,
                            const std::vector<Edge>& edges,
                            const std::vector<Tensor>& gradients = {},
                            const GradOptions& options = {});

enum class CallbackTime { kInnermost, kOutermost };

// Runs `callback` once after the current backward on this thread finishes,
// before it returns; not if it fails. In a nested backward, `time` selects the
// inner backward or the user's own call.
//   AutogradError  no backward runs on this thread
void queue_callback(std::function<void()> callback,
                    CallbackTime time = CallbackTime::kInnermost);

class GraphTask;

// A backward call, as its observers see it.
class BackwardPlan {
 public:
  // Whether this backward may give `leaf` a gradient. A leaf that it does not
  // reach keeps its grad(), and its hooks do not run. (A node on the way may
  // still produce no gradient.)
  bool reaches(const Tensor& leaf) const;
  // Whether nested backward calls may reach further leaves: true if a Function
  // takes part, as in reentrant checkpoints.
  bool may_reach_more() const;
  // Nesting depth: 0 for the user's call, more within another backward.
  int depth() const;
  // At the end: whether the backward finished without an exception.
  bool completed() const { return completed_; }

 private:
  friend void backward(const std::vector<Tensor>&, const std::vector<Tensor>&,
                       const BackwardOptions&);
  explicit BackwardPlan(const GraphTask& task) : task_(task) {}
  const GraphTask& task_;
  bool completed_ = false;
};

// Callbacks at the start and the end of backward(), on the calling thread:
// on_start before the first node, on_end after the last callback. Their
// exceptions reach the caller of backward(). After a failure on_end still runs,
// with completed() false, and its exceptions are dropped.
struct BackwardObserver {
  std::function<void(const BackwardPlan&)> on_start = {};
  std::function<void(const BackwardPlan&)> on_end = {};
};

// Calls `observer` for every backward() in this process until the handle is
// removed; not for grad(), which changes no leaf. An observer of certain leaves
// should ask the plan whether it reaches them: with several models in a
// process, a backward may reach none.
HookHandle add_backward_observer(BackwardObserver observer);

}  // namespace autograd
}  // namespace hvd
