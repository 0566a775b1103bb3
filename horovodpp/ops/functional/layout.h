// SPDX-License-Identifier: Apache-2.0
// How images lie in memory. Images are [n, channels, height, width].
//
// Results on images lie in memory with their channels last, whatever the
// operand: what is fastest for convolutions, which elementwise operations keep.
// So reshape() them; view() refuses where it would have to copy. Operands that
// lie otherwise are copied.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// A copy of the images `x` with channels last; x itself if it lies so.
Tensor channels_last(const Tensor& x);

namespace autograd {

// Strides of [n, c, ...] with the channels last.
Dims channels_last_strides(const Dims& shape);

// Whether the images `x` lie with their channels last.
bool is_channels_last(const Tensor& x);

// An image tensor like that, not initialized.
Tensor empty_channels_last(const Dims& shape, DType dtype);

}  // namespace autograd
}  // namespace hvd
