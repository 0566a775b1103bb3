// SPDX-License-Identifier: Apache-2.0
// Copies without history, hidden from observers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/core/dtype.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// x copied to memory of `memory`: in x's order of dimensions if x has no gaps,
// else row-major.
inline Tensor copy_of(const Tensor& x, Allocator& memory) {
  const Dims strides = is_dense(x.shape(), x.strides())
                           ? x.strides()
                           : contiguous_strides(x.shape());
  Tensor copy(Ref<TensorImpl>::adopt(new TensorImpl(
      Storage::allocate(x.bytes(), memory), x.dtype(), x.shape(), strides, 0)));
  convert_into(copy, on_device(x, memory.device()));
  return copy;
}

// x copied to memory of `memory` with these strides. Repeated elements of x
// stay one element.
inline Tensor copy_of(const Tensor& x, Allocator& memory, const Dims& strides) {
  std::int64_t room = x.num_elements() == 0 ? 0 : 1;
  Dims once = x.shape();
  for (std::size_t d = 0; room != 0 && d < once.size(); ++d) {
    room += (once[d] - 1) * strides[d];
    if (strides[d] == 0) once[d] = 1;
  }
  const std::size_t bytes = static_cast<std::size_t>(room) * size_of(x.dtype());
  const Tensor copy(Ref<TensorImpl>::adopt(new TensorImpl(
      Storage::allocate(bytes, memory), x.dtype(), x.shape(), strides, 0)));
  convert_into(copy.alias(once, strides, 0),
               on_device(x.alias(once, x.strides(), x.storage_offset()),
                         memory.device()));
  return copy;
}

// A tensor on the same memory, without history.
inline Tensor bare(const Tensor& x) {
  return x.defined() ? x.alias(x.shape(), x.strides(), x.storage_offset()) : x;
}

}  // namespace hvd::autograd
