// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/autograd_meta.h"

namespace hvd::autograd {

AutogradMeta& meta_of(const Tensor& tensor) {
  auto& meta = tensor.impl()->meta;
  if (meta == nullptr) meta.reset(new AutogradMeta);
  return *meta;
}

LeafHooks& AutogradMeta::make_hooks() {
  LeafHooks* existing = hooks.load(std::memory_order_acquire);
  if (existing == nullptr) {
    existing = new LeafHooks;
    hooks.store(existing, std::memory_order_release);
  }
  return *existing;
}

Tensor standing_for_leaf(const Tensor& tensor, const Tensor& leaf) {
  const TensorImpl& made = *tensor.impl();
  const TensorImpl& original = *leaf.impl();
  // A leaf that was moved into a graph has no meta left.
  const bool is_gone = original.meta == nullptr;
  if (is_gone || made.meta.get() == original.meta.get()) return tensor;
  if (made.storage.get() == original.storage.get() &&
      made.offset == original.offset && made.shape == original.shape &&
      made.strides == original.strides) {
    return leaf;
  }
  Tensor result = tensor.detach();
  original.meta->owners.fetch_add(1, std::memory_order_relaxed);
  result.impl()->meta.reset(original.meta.get());
  return result;
}

const Tensor& root_of(const Tensor& tensor) {
  const AutogradMeta* meta = tensor.impl()->meta.get();
  return meta != nullptr && meta->base.defined() ? meta->base : tensor;
}

Tensor with_history(const Tensor& tensor, Ref<Node> node,
                    std::uint32_t output_nr) {
  Tensor result = tensor.detach();
  AutogradMeta& meta = meta_of(result);
  meta.output_nr = output_nr;
  meta.grad_fn = std::move(node);
  return result;
}

}  // namespace hvd::autograd
