// SPDX-License-Identifier: Apache-2.0
// Overlap of tensors in memory.
#pragma once

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Whether the storages of a and b overlap. They may overlap if one is borrowed,
// or is the data() of the other.
bool shares_memory(const Tensor& a, const Tensor& b);

// Whether several elements of `tensor` share one address.
bool repeats_places(const Tensor& tensor);

// places += values, element by element in order; several places may share an
// address.
void scatter_add(const Tensor& places, const Tensor& values);

}  // namespace hvd::autograd
