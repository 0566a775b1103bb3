// SPDX-License-Identifier: Apache-2.0
// Compares tensors by their largest element.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/autograd/support.h"

namespace hvd {

// That no element of `found`, of any floating dtype, is farther from that of
// `wanted` than `tolerance` times the largest of those.
inline void expect_near(const Tensor& found, const Tensor& wanted,
                        double tolerance) {
  ASSERT_EQ(found.shape(), wanted.shape());
  const auto f = values(to(found.detach(), DType::kF64));
  const auto w = values(to(wanted.detach(), DType::kF64));
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    largest = std::max(largest, std::abs(w[i]));
    // Written so that NaN does not pass.
    if (!(std::abs(f[i] - w[i]) <= off)) off = std::abs(f[i] - w[i]);
  }
  EXPECT_LE(off, tolerance * std::max(largest, 1e-30));
}

}  // namespace hvd
