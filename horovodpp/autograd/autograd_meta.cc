// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/autograd_meta.h"

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
