// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/distributed/exchange.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/record/effects.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::distributed {

using autograd::EffectLog;
using autograd::Node;
using autograd::Ref;

namespace {

Tensor tensor_on(const Buffer& buffer) {
  const TensorView view = buffer.view();
  return from_blob(view.data(), view.shape(), view.dtype(),
                   [buffer](void* /*data*/) {});
}

// Copies, because the enclosing checkpointed function keeps `kept` for its
// recomputation, and no other code may write to it.
Future<Tensors> copies_of(const Future<Tensors>& kept) {
  return map<Tensors>(
      kept, [inference = is_inference_mode_enabled()](const Tensors& tensors) {
        const InferenceMode mode(inference);
        Tensors copies;
        for (const Tensor& tensor : tensors) copies.push_back(copy_of(tensor));
        return copies;
      });
}

// Replaces the elements of `memory`. If that ends later, the versions rise once
// more then, so that uses of the tensors in between are detected.
Future<void> write(const Job& job, const MemoryPtr& memory,
                   const InPlace& what) {
  const Future<void> sent = submitted(
      job, [&](Runtime& runtime) { return what.submit(runtime, memory); });
  if (sent.poll()) {
    if (sent.wait().ok()) memory->copy_back();
    return sent;
  }
  return map<void>(sent, [memory] {
    memory->copy_back();
    memory->bump_versions();
  });
}

// Writes only once: a recomputation then writes the values of the first run.
Future<void> write_once(const Job& job, const MemoryPtr& memory,
                        const InPlace& what) {
  if (!EffectLog::is_in_force()) return write(job, memory, what);
  Future<void> written;
  bool runs = false;
  const Future<Tensors> kept = run_once([&] {
    runs = true;
    written = write(job, memory, what);
    return map<Tensors>(written, [memory] { return memory->copies(); });
  });
  if (runs) return written;
  const StatusOr<Tensors> values = kept.wait();
  if (values.ok()) memory->assign(*values);
  return Future<void>::ready(values.status());
}

}  // namespace

Tensors tensors_of(const std::vector<Buffer>& buffers) {
  Tensors tensors;
  for (const Buffer& buffer : buffers) tensors.push_back(tensor_on(buffer));
  return tensors;
}

Tensors tensors_of(const Buffer& buffer) { return {tensor_on(buffer)}; }

Tensors tensors_of(const AlltoallResult& result) {
  const auto& splits = result.received_splits;
  return {tensor_on(result.tensor),
          from_vector(splits, {static_cast<std::int64_t>(splits.size())})};
}

Future<Tensors> exchange(const Start& start, const Ref<Node>& node) {
  const Future<Tensors> results =
      EffectLog::is_in_force() ? copies_of(run_once(start)) : start();
  if (!node) return results;
  return map<Tensors>(results, [node](const Tensors& tensors) {
    for (std::size_t i = 0; i < node->next_edges().size(); ++i) {
      set_history(tensors[i], node);
    }
    return tensors;
  });
}

Future<void> exchange_in_place(const Job& job, const Tensors& tensors,
                               const InPlace& what) {
  std::vector<Ref<Node>> nodes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    autograd::check_defined(tensors[i], what.operation);
    const bool recorded = autograd::needs_grad(tensors[i]);
    autograd::check_inplace(tensors[i], recorded, what.operation);
    nodes.push_back(recorded ? what.node(i) : nullptr);
    if (recorded) nodes[i]->add_edge(autograd::gradient_edge(tensors[i]));
  }
  const auto memory =
      std::make_shared<const Memory>(tensors, what.operation, what.owner);
  Future<void> written = write_once(job, memory, what);
  // An operation that has failed at once has changed nothing.
  if (written.poll() && !written.wait().ok()) return written;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    autograd::finish_inplace(tensors[i], std::move(nodes[i]));
  }
  return written;
}

bool any_needs_grad(const Tensors& tensors) {
  bool any = false;
  for (const Tensor& tensor : tensors) any |= autograd::needs_grad(tensor);
  return any;
}

std::string gradient_name(const std::string& name) {
  return name.empty() ? name : absl::StrCat(name, ".gradient");
}

void check_linear(ReduceOp op, const char* operation, const std::string& name) {
  if (describe(op).linear) return;
  throw autograd::NotDifferentiableError(absl::StrCat(
      operation, name.empty() ? "" : absl::StrCat(" '", name, "'"), ", op ",
      name_of(op),
      ": has no gradient; reduce by sum or average, or reduce a detach() of "
      "the tensor"));
}

Tensors completed(const Node& node, std::span<Tensor> gradients) {
  Tensors all;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const autograd::InputMetadata& result = node.inputs()[i];
    all.push_back(gradients[i].defined()
                      ? gradients[i]
                      : zeros(result.shape, {.dtype = result.dtype}));
  }
  return all;
}

Future<Tensor> first_of(const Future<Tensors>& tensors) {
  return map<Tensor>(tensors, [](const Tensors& all) { return all.front(); });
}

}  // namespace hvd::distributed
