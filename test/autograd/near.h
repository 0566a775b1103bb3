// SPDX-License-Identifier: Apache-2.0
// Compares tensors relative to their largest element.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/autograd/support.h"

namespace hvd {

// Checks that each element of `found`, of any floating dtype, differs from
// `wanted` by at most `tolerance` times the largest element of `wanted`.
inline void expect_near(const Tensor& found, const Tensor& wanted,
                        double tolerance) {
  ASSERT_EQ(found.shape(), wanted.shape());
  const auto f = values(to(found.detach(), DType::kF64));
  const auto w = values(to(wanted.detach(), DType::kF64));
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    largest = std::max(largest, std::abs(w[i]));
    // Written so that NaN fails.
    if (!(std::abs(f[i] - w[i]) <= off)) off = std::abs(f[i] - w[i]);
  }
  EXPECT_LE(off, tolerance * std::max(largest, 1e-30));
}

}  // namespace hvd
