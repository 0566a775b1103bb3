// SPDX-License-Identifier: Apache-2.0
// Elements of a tensor chosen by tensors of indices: what is left of x[…] once
// numbers and slices have been made views of (index.h).
#pragma once

#include <vector>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// For each dimension, the int64 tensor that picks from it, those of several
// dimensions broadcast together; undefined: all of it. At least one is defined.
using Picks = std::vector<Tensor>;

// A copy of the chosen elements. Their dimensions stand where the first picked
// one stood, or in front if those picked are not neighbours.
//   InvalidArgument  an index is out of range, or the picks do not broadcast
Tensor pick(const Tensor& x, const Picks& picks);

// Writes `value`, which broadcasts to the shape of pick(), to them. Of an element
// chosen twice the last value stays. Errors as above and of check_inplace().
void put_(const Tensor& x, const Picks& picks, const Tensor& value);

}  // namespace hvd::autograd
