// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/distributed/memory.h"

#include <cstddef>
#include <utility>

#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::distributed {

Tensor copy_of(const Tensor& tensor) {
  Tensor copy = empty(tensor.shape(), {.dtype = tensor.dtype()});
  autograd::convert_into(copy, tensor);
  return copy;
}

Memory::Memory(const Tensors& tensors, const char* operation,
               std::shared_ptr<const void> owner)
    : owner_(std::move(owner)) {
  for (const Tensor& tensor : tensors) {
    autograd::check_defined(tensor, operation);
    const Tensor& same = tensors_.emplace_back(tensor.alias(
        tensor.shape(), tensor.strides(), tensor.storage_offset()));
    rows_.push_back(same.is_contiguous() ? same : copy_of(same));
  }
}

std::vector<TensorView> Memory::views() const {
  std::vector<TensorView> views;
  for (const Tensor& rows : rows_) views.push_back(rows.tensor_view());
  return views;
}

std::vector<ConstTensorView> Memory::const_views() const {
  const std::vector<TensorView> all = views();
  return {all.begin(), all.end()};
}

void Memory::copy_back() const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (rows_[i].is_same(tensors_[i])) continue;
    autograd::convert_into(tensors_[i], rows_[i]);
  }
}

void Memory::assign(const Tensors& values) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    autograd::convert_into(tensors_[i], values[i]);
  }
}

void Memory::bump_versions() const {
  for (const Tensor& tensor : tensors_) tensor.bump_version();
}

Tensors Memory::copies() const {
  Tensors copies;
  for (const Tensor& tensor : tensors_) copies.push_back(copy_of(tensor));
  return copies;
}

}  // namespace hvd::distributed
