// SPDX-License-Identifier: Apache-2.0
// A Buffer owns the memory of one tensor. Collectives return one when the
// caller supplies no output.
//
//   StatusOr<Buffer> rows = hvd::allgather(mine, {.name = "rows"});
//   const float* first = rows->data<float>();
//
// Copies share the memory.
#pragma once

#include <cstddef>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"

namespace HVD_EXPORT hvd {

class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  // An empty float32[0].
  Buffer() = default;

  // Uninitialized memory on the CPU, aligned to a cache line.
  //   InvalidArgument    the shape is malformed (see Shape::checked)
  //   ResourceExhausted  there is not enough memory
  static StatusOr<Buffer> allocate(DType dtype, Shape shape);

  // Wraps existing memory on `device`, as large as the shape requires.
  //   InvalidArgument    the shape is malformed (see Shape::checked)
  static StatusOr<Buffer> over(std::shared_ptr<std::byte> memory, DType dtype,
                               Shape shape, Device device = {});

  // A copy of the tensor `source`. CPU memory only (else Unimplemented).
  static StatusOr<Buffer> copy_of(const ConstTensorView& source);

  TensorView view() const { return view_; }
  DType dtype() const { return view_.dtype(); }
  const Shape& shape() const { return view_.shape(); }
  std::int64_t num_elements() const { return view_.num_elements(); }
  std::size_t bytes() const { return view_.bytes(); }

  // The elements, or nullptr if they are not of type T.
  template <typename T>
  T* data() const {
    return dtype_of<T> == dtype() ? static_cast<T*>(view_.data()) : nullptr;
  }

 private:
  std::shared_ptr<std::byte> memory_;
  TensorView view_;
};

}  // namespace hvd
