// SPDX-License-Identifier: Apache-2.0
// The memory of tensors as a collective uses it: row by row, and alive as long as
// somebody holds this. Nothing here is recorded.
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

  // What was copied to lie row by row goes where it came from.
  void copy_back() const;
  // Replaces the elements of the tensors.
  void assign(const Tensors& values) const;
  void bump_versions() const;
  // Copies of the tensors, row by row.
  Tensors copies() const;

 private:
  Tensors tensors_;  // Without history.
  Tensors rows_;     // The same ones, or copies of those that lie otherwise.
  const std::shared_ptr<const void> owner_;
};
using MemoryPtr = std::shared_ptr<const Memory>;

// A copy of the elements, row by row.
Tensor copy_of(const Tensor& tensor);

}  // namespace hvd::distributed
