// SPDX-License-Identifier: Apache-2.0
// Tensors made from numbers, with PyTorch's names. Not differentiable.
//
// InvalidArgument if a size is negative or a number does not fit the dtype.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// 1 where row and column are equal, else 0.
Tensor eye(std::int64_t rows, std::int64_t columns,
           const TensorOptions& options = {});
Tensor eye(std::int64_t rows, const TensorOptions& options = {});
// `steps` numbers at equal distances from start to end, both included.
Tensor linspace(double start, double end, std::int64_t steps,
                const TensorOptions& options = {});
// base to the power of linspace().
Tensor logspace(double start, double end, std::int64_t steps,
                double base = 10.0, const TensorOptions& options = {});

// With the shape and dtype of `like`; row-major.
Tensor full_like(const Tensor& like, double value);
Tensor rand_like(const Tensor& like);
Tensor randn_like(const Tensor& like);

// int64 [2, n]: rows and columns of the elements that tril() or triu() of a
// matrix keep, in row-major order.
Tensor tril_indices(std::int64_t rows, std::int64_t columns,
                    std::int64_t offset = 0);
Tensor triu_indices(std::int64_t rows, std::int64_t columns,
                    std::int64_t offset = 0);

// int64 [..., classes]: 1 at place labels[...], else 0. labels int64 [...];
// classes -1: the largest label + 1.
Tensor one_hot(const Tensor& labels, std::int64_t classes = -1);

}  // namespace hvd
