// SPDX-License-Identifier: Apache-2.0
// Running a graph backward.
//
//   loss.backward({}, {.retain_graph = true});
//   std::vector<hvd::Tensor> g = hvd::autograd::grad({z}, {x, y});
//
// A backward call runs on the thread that makes it, in an order that depends on
// the graph only: among the nodes whose gradients are complete, those of leaves
// first, then the one recorded last. Several threads may run backward at once,
// through one graph too (which all but the last then retain); a hook or a node
// may call backward itself, to any depth.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "horovodpp/autograd/node.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

struct BackwardOptions {
  // Whether the graph can be run backward again. By default: create_graph.
  std::optional<bool> retain_graph = std::nullopt;
  // Whether the computation of the gradients is recorded, so that they have
  // gradients themselves.
  bool create_graph = false;
  // If given, only these get a grad(); they need not be leaves.
  std::optional<std::vector<Tensor>> inputs = std::nullopt;
};

// Adds to the grad() of every leaf the gradient of sum_i roots[i]·gradients[i].
// An undefined gradient, or one that is missing, stands for 1.
//   NonScalarError          a gradient is missing for a root of more than one
//                           element
//   NotDifferentiableError  a root does not require grad
//   InvalidArgument         a gradient has not its root's shape; `inputs` is
//                           empty; a root is undefined
//   GraphFreedError         the graph was not retained by an earlier backward
//   VersionError            what a node saved was modified in place
//   and whatever a node or a hook throws.
void backward(const std::vector<Tensor>& roots,
              const std::vector<Tensor>& gradients = {},
              const BackwardOptions& options = {});

struct GradOptions {
  std::optional<bool> retain_graph = std::nullopt;  // By default: create_graph.
  bool create_graph = false;
  // Whether an input that the outputs do not depend on is an error, or has an
  // undefined gradient,
  bool allow_unused = false;
  // or, whatever allow_unused says, one of zeros.
  bool materialize_grads = false;
};

// The gradients of sum_i outputs[i]·gradients[i] with respect to `inputs`;
// leaves every grad() as it is. Errors as of backward(), and
//   NotDifferentiableError  an input does not require grad or, unless allowed,
//                           is not used ("Set allow_unused")
std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                         const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients = {},
                         const GradOptions& options = {});

// The same with respect to whatever arrives at these edges (record.h), so that
// a tensor's gradient can be asked for as of before it was written in place.
std::vector<Tensor> grad_at(const std::vector<Tensor>& outputs,
                            const std::vector<Edge>& edges,
                            const std::vector<Tensor>& gradients = {},
                            const GradOptions& options = {});

enum class CallbackTime { kInnermost, kOutermost };

// Runs `callback` once when the backward that runs on this thread has finished,
// before it returns; not if it fails. Of a backward within a backward: the
// inner one, or the one that the user called.
//   AutogradError  no backward runs on this thread
void queue_callback(std::function<void()> callback,
                    CallbackTime time = CallbackTime::kInnermost);

class GraphTask;

// What a backward call is about to do, or has done.
class BackwardPlan {
 public:
  // Whether this backward offers `leaf` a gradient. A leaf that it does not
  // reach keeps its grad() and its hooks stay silent. (Offered is not given: a
  // node may have none to give.)
  bool reaches(const Tensor& leaf) const;
  // Whether other leaves may be reached as well, by a backward within this one:
  // a Function takes part, which may call it, as reentrant checkpoints do.
  bool may_reach_more() const;
  // 0 for a call of the user's, more for one made during another backward.
  int depth() const;
  // At the end: whether it finished, and did not throw.
  bool completed() const { return completed_; }

 private:
  friend void backward(const std::vector<Tensor>&, const std::vector<Tensor>&,
                       const BackwardOptions&);
  explicit BackwardPlan(const GraphTask& task) : task_(task) {}
  const GraphTask& task_;
  bool completed_ = false;
};

// Is told when backward() begins and ends. Called on the thread that runs it;
// on_start before the first node, on_end after the last callback. What they
// throw reaches the caller of backward(). After a failure on_end is called too,
// with completed() false; what it throws then is dropped.
struct BackwardObserver {
  std::function<void(const BackwardPlan&)> on_start = {};
  std::function<void(const BackwardPlan&)> on_end = {};
};

// Tells `observer` of every backward() in this process (not of grad(), which
// changes no leaf) until the handle is removed. An observer that stands for
// some leaves asks the plan which of them it reaches: none means that the
// backward is none of its business — in a process with several models, somebody
// else's.
HookHandle add_backward_observer(BackwardObserver observer);

}  // namespace autograd
}  // namespace hvd
