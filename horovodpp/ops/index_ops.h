// Indexing beside x[…] (index.h).
#pragma once

#include "horovodpp/tensor/tensor.h"

namespace hvd {

// int64 [n, dims of x]: where x is not zero, in the order of memory by rows.
Tensor nonzero(const Tensor& x);

}  // namespace hvd
