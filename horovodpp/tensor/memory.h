// SPDX-License-Identifier: Apache-2.0
// Which memory tensors are on.
#pragma once

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Whether the storages of a and b, of which one may be borrowed or the data() of
// the other, have bytes in common.
bool shares_memory(const Tensor& a, const Tensor& b);

// Whether several elements of `tensor` lie on one place.
bool repeats_places(const Tensor& tensor);

}  // namespace hvd::autograd
