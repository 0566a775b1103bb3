// SPDX-License-Identifier: Apache-2.0
// The memory layout of images [n, channels, height, width].
//
// Results on images are channels-last for any operand, the fastest layout for
// convolutions; elementwise operations keep it. So use reshape() on them;
// view() throws where it would have to copy. Operands in another layout are
// copied.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The images `x` in channels-last layout: a copy, or x itself.
Tensor channels_last(const Tensor& x);

namespace autograd {

// Channels-last strides of [n, c, ...].
Dims channels_last_strides(const Dims& shape);

// Whether the images `x` are in channels-last layout.
bool is_channels_last(const Tensor& x);

// An uninitialized channels-last image tensor.
Tensor empty_channels_last(const Dims& shape, DType dtype);

}  // namespace autograd
}  // namespace hvd
