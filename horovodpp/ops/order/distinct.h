// SPDX-License-Identifier: Apache-2.0
// Distinct slices and runs of equal elements, and membership. Not
// differentiable; each NaN counts as distinct.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/order/search.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The distinct slices of x along a dimension, in lexicographic order. `inverse`
// and `counts` have one number for each slice of x and of `values`.
//   InvalidArgument  the slices are empty
UniqueResult unique(const Tensor& x, std::int64_t dim);

// The same for runs of equal neighbors, in the order of x. Without `dim`, runs
// of elements: `inverse` has x's shape.
UniqueResult unique_consecutive(const Tensor& x,
                                std::optional<std::int64_t> dim = std::nullopt);

// Whether each element of x is one of `elements`: bool. The dtypes are promoted.
Tensor isin(const Tensor& x, const Tensor& elements);

}  // namespace hvd
