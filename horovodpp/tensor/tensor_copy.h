// SPDX-License-Identifier: Apache-2.0
// Copies that no graph and no observer knows of.
#pragma once

#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// x in memory of `memory`: without gaps, in x's order of dimensions where that has
// none.
inline Tensor copy_of(const Tensor& x, Allocator& memory) {
  const Dims strides = is_dense(x.shape(), x.strides())
                           ? x.strides()
                           : contiguous_strides(x.shape());
  Tensor copy(Ref<TensorImpl>::adopt(new TensorImpl(
      Storage::allocate(x.bytes(), memory), x.dtype(), x.shape(), strides, 0)));
  convert_into(copy, x);
  return copy;
}

// The same memory, without history.
inline Tensor bare(const Tensor& x) {
  return x.defined() ? x.alias(x.shape(), x.strides(), x.storage_offset()) : x;
}

}  // namespace hvd::autograd
