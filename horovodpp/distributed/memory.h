// SPDX-License-Identifier: Apache-2.0
// The memory of tensors for a collective: row-major, and kept alive as long as
// this object. Its operations are not recorded.
#pragma once

#include <memory>
#include <vector>

#include "horovodpp/core/tensor_view.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::distributed {

using Tensors = std::vector<Tensor>;

class Memory {
 public:
  // Also keeps `owner`.
  //   InvalidArgument  a tensor is undefined; names `operation`
  Memory(const Tensors& tensors, const char* operation,
         std::shared_ptr<const void> owner);

  std::vector<TensorView> views() const;
  std::vector<ConstTensorView> const_views() const;

  // Copies row-major copies back to their tensors.
  void copy_back() const;
  // Replaces the elements of the tensors.
  void assign(const Tensors& values) const;
  void bump_versions() const;
  // Row-major copies of the tensors.
  Tensors copies() const;

 private:
  Tensors tensors_;  // Without history.
  Tensors rows_;     // The same tensors, or row-major copies.
  const std::shared_ptr<const void> owner_;
};
using MemoryPtr = std::shared_ptr<const Memory>;

// A row-major copy of the elements.
Tensor copy_of(const Tensor& tensor);

}  // namespace hvd::distributed
