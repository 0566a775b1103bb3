// SPDX-License-Identifier: Apache-2.0
// Sorted elements along a dimension. NaN is larger than every number. Equal
// elements keep their order, so results do not depend on the number of threads.
// Values are differentiable; indices are int64 and are not.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct SortResult {
  Tensor values;
  Tensor indices;
};

struct SortOptions {
  std::int64_t dim = -1;
  bool descending = false;
};

// All elements in order, and the places that they had.
SortResult sort(const Tensor& x, const SortOptions& options = {});
// The indices alone.
Tensor argsort(const Tensor& x, const SortOptions& options = {});

struct TopkOptions {
  std::int64_t dim = -1;
  bool largest = true;
};

// The k largest or smallest elements, in order.
//   InvalidArgument  the dimension has fewer elements
SortResult topk(const Tensor& x, std::int64_t k,
                const TopkOptions& options = {});

struct KthOptions {
  std::int64_t dim = -1;
  bool keepdim = false;
};

// The k-th smallest element, counted from 1. The dimension is dropped unless
// `keepdim`.
//   InvalidArgument  the dimension has no such element
SortResult kthvalue(const Tensor& x, std::int64_t k,
                    const KthOptions& options = {});

}  // namespace hvd
