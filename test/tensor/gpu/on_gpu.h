// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of tensors on GPUs, which run on the fake driver or, with
// HOROVODPP_TEST_ON_GPUS=1, on the machine's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "horovodpp/device/gpus.h"
#include "horovodpp/ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"
#include "test/support/test_gpus.h"

namespace hvd::testing {

class OnGpu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    device::Gpus::of_process().look_for(TestGpus::cuda_library());
    // Streams lag behind the host, so that a missing wait shows.
    TestGpus::set_delay(20);
  }
  static void TearDownTestSuite() { TestGpus::set_delay(0); }

  const Device gpu_ = Device::cuda(0);
};

inline constexpr DType kAllTypes[] = {
    DType::kU8,  DType::kI8,   DType::kI16, DType::kI32, DType::kI64,
    DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kBool};

// The bytes of the elements in row-major order, on any device.
inline std::vector<std::byte> bytes_of(const Tensor& x) {
  const Tensor rows = x.to(Device::cpu()).contiguous();
  const auto* const first = static_cast<const std::byte*>(rows.raw_data());
  if (rows.bytes() == 0) return {};
  return std::vector<std::byte>(first, first + rows.bytes());
}

// That both have the same geometry, dtype and bits.
inline void expect_same_bits(const Tensor& a, const Tensor& b,
                             const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  EXPECT_TRUE(bytes_of(a) == bytes_of(b))
      << what << ": " << a.to_string() << " and " << b.to_string();
}

// Views of one tensor, of every kind of layout.
struct Layout {
  std::string name;
  Tensor x;
};
inline std::vector<Layout> layouts_of(const Tensor& x) {  // Of shape {4, 6, 5}.
  return {{"rows", x},
          {"transposed", x.transpose(0, 2)},
          {"permuted", x.permute({1, 2, 0})},
          {"sliced", x.slice(1, 1, 6, 2)},
          {"narrowed", x.narrow(2, 1, 3)},
          {"expanded", x.select(0, 1).unsqueeze(0).expand({3, 6, 5})},
          {"column", x.select(2, 3)},
          {"number", x.select(0, 2).select(0, 1).select(0, 4)},
          {"empty", x.narrow(0, 1, 0)}};
}

}  // namespace hvd::testing
