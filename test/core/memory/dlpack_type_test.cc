// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/dlpack_type.h"

#include <gtest/gtest.h>

#include <optional>

namespace hvd {
namespace {

TEST(DlpackType, EachDTypeIsFoundAgain) {
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(dtype_of_dlpack(dlpack_type(dtype)), dtype);
  }
}

TEST(DlpackType, HasTheNumbersOfDlpack) {
  EXPECT_EQ(dtype_of_dlpack({1, 8, 1}), DType::kU8);
  EXPECT_EQ(dtype_of_dlpack({0, 8, 1}), DType::kI8);
  EXPECT_EQ(dtype_of_dlpack({0, 64, 1}), DType::kI64);
  EXPECT_EQ(dtype_of_dlpack({2, 16, 1}), DType::kF16);
  EXPECT_EQ(dtype_of_dlpack({4, 16, 1}), DType::kBF16);
  EXPECT_EQ(dtype_of_dlpack({2, 64, 1}), DType::kF64);
  EXPECT_EQ(dtype_of_dlpack({6, 8, 1}), DType::kBool);
}

TEST(DlpackType, OthersHaveNoDType) {
  EXPECT_EQ(dtype_of_dlpack({1, 16, 1}), std::nullopt);
  EXPECT_EQ(dtype_of_dlpack({2, 128, 1}), std::nullopt);
  EXPECT_EQ(dtype_of_dlpack({5, 64, 1}), std::nullopt);
  EXPECT_EQ(dtype_of_dlpack({2, 32, 4}), std::nullopt);
}

}  // namespace
}  // namespace hvd
