// SPDX-License-Identifier: Apache-2.0
// Indexing operations besides x[…] (index.h).
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// int64 [n, dims of x]: the indices of nonzero elements, in row-major order.
Tensor nonzero(const Tensor& x);

}  // namespace hvd
