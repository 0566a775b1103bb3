// SPDX-License-Identifier: Apache-2.0
// Turns a collective of the runtime into an operation on tensors. The input is
// kept alive, and results become tensors with a history. A recomputation does
// not run the collective again.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/distributed/future_map.h"
#include "horovodpp/distributed/job.h"
#include "horovodpp/distributed/memory.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/settings/waits_at_once.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::distributed {

// The runtime's results, as tensors without history. An alltoall has a second
// tensor, int64: the received rows.
Tensors tensors_of(const std::vector<Buffer>& buffers);
Tensors tensors_of(const Buffer& buffer);
Tensors tensors_of(const AlltoallResult& result);

// Runs `start` and returns its results; in a recomputation returns a copy of
// the first run's results. `node`, unless null, becomes the history of the
// first results, as many as it has edges.
using Start = std::function<Future<Tensors>()>;
Future<Tensors> exchange(const Start& start,
                         const autograd::Ref<autograd::Node>& node);

// Submits with `submit` to the job; without a job, an error. Waits if the
// caller waits at once.
template <typename Submit>
auto submitted(const Job& job, const Submit& submit) {
  using Submitted = std::invoke_result_t<const Submit&, Runtime&>;
  Submitted sent;
  {
    const auto runtime = job.enter();
    if (!runtime.ok()) return Submitted::ready(runtime.status());
    sent = submit(**runtime);
  }
  if (WaitsAtOnce::here()) static_cast<void>(sent.wait());
  return sent;
}

// The same for `submit(Runtime&)`.
template <typename Submit>
Future<Tensors> exchange(const Job& job, const Submit& submit,
                         const autograd::Ref<autograd::Node>& node) {
  return exchange(
      [&]() -> Future<Tensors> {
        const auto sent = submitted(job, submit);
        return map<Tensors>(
            sent, [inference = is_inference_mode_enabled()](const auto& made) {
              const InferenceMode mode(inference);
              return tensors_of(made);
            });
      },
      node);
}

// A collective that replaces the elements of tensors, as an in-place operation.
struct InPlace {
  const char* operation = "";
  // Keeps the caller's memory alive.
  std::shared_ptr<const void> owner = nullptr;
  std::function<Future<void>(Runtime&, const MemoryPtr&)> submit = {};
  // The history of tensor `index`, without its edge.
  std::function<autograd::Ref<autograd::Node>(std::size_t index)> node = {};
};
//   InvalidArgument, and the errors of check_inplace: nothing was sent
Future<void> exchange_in_place(const Job& job, const Tensors& tensors,
                               const InPlace& what);

// Whether an operation on `tensors` must be recorded.
bool any_needs_grad(const Tensors& tensors);

// A node with an edge for each of `tensors`.
template <typename N>
autograd::Ref<N> node_of(const Tensors& tensors) {
  const auto node = autograd::make_node<N>();
  for (const Tensor& tensor : tensors) {
    node->add_edge(autograd::gradient_edge(tensor));
  }
  return node;
}

// "<name>.gradient"; empty without a name.
std::string gradient_name(const std::string& name);

// Checks that a reduction by `op` has a gradient.
//   NotDifferentiableError  names the collective, and an alternative
void check_linear(ReduceOp op, const char* operation, const std::string& name);

// The gradients that `node` has received, and zeros for the others: ranks may
// use different results, and must send equal shapes.
Tensors completed(const autograd::Node& node, std::span<Tensor> gradients);

// The first of several tensors.
Future<Tensor> first_of(const Future<Tensors>& tensors);

// Runs `begin` and waits for its outcome.
//   hvd::Error  the operation's error
template <typename Begin>
auto at_once(const Begin& begin) {
  const WaitsAtOnce at_once;
  if constexpr (std::is_same_v<decltype(begin()), Future<void>>) {
    throw_if_error(begin().wait());
  } else {
    return value_or_throw(begin().take());
  }
}

}  // namespace hvd::distributed
