// SPDX-License-Identifier: Apache-2.0
// Indexing beside x[…] (index.h).
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// int64 [n, dims of x]: where x is not zero, in the order of memory by rows.
Tensor nonzero(const Tensor& x);

}  // namespace hvd
