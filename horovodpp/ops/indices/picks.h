// SPDX-License-Identifier: Apache-2.0
// Indexing by tensors: the part of x[…] that remains after numbers and slices
// have become views (index_ops.h).
#pragma once

#include <vector>

#include "horovodpp/ops/indices/written.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// For each dimension, the int64 tensor that picks from it, with the tensors
// broadcast together; undefined: all elements. At least one is defined.
using Picks = std::vector<Tensor>;

// A copy of the chosen elements. The picked dimensions appear at the first
// picked one's place, or in front if they are not adjacent.
//   InvalidArgument  an index is out of range, or the picks do not broadcast
Tensor pick(const Tensor& x, const Picks& picks);

struct PutOptions {
  const char* operation;  // Of errors.
  Place place = Place::kInPlace;
  bool accumulate = false;
};

// Writes or adds `value`, which broadcasts to the shape of pick(), to the
// chosen elements of x or of a copy, and returns that. For repeated elements
// the last value wins. Errors as above and of check_inplace().
Tensor put(const Tensor& x, const Picks& picks, const Tensor& value,
           const PutOptions& options);
inline void put_(const Tensor& x, const Picks& picks, const Tensor& value) {
  put(x, picks, value, {"index_put_"});
}

// The same for elements [n] that an int64 index [n] names in row-major order.
Tensor put_flat(const Tensor& x, const Tensor& index, const Tensor& values,
                const PutOptions& options);

}  // namespace hvd::autograd
