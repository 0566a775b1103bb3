// What operations make of their own intermediate results.
#pragma once

#include <cstdint>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// `made`, an intermediate result that nobody else has, in other sizes: for graphs
// a result in its own right, and no view.
Tensor resized(const Tensor& made, const Dims& sizes);
// The same without dimension `dim`, which is 1.
Tensor without(const Tensor& made, std::int64_t dim);

}  // namespace hvd::autograd
