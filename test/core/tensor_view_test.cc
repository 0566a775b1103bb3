// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/tensor_view.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

namespace hvd {
namespace {

TEST(TensorView, DefaultHasNoElements) {
  const TensorView view;
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_EQ(view.num_elements(), 0);
  EXPECT_EQ(view.bytes(), 0u);
}

TEST(TensorView, DescribesItsMemory) {
  std::vector<double> values(6);
  const TensorView view = TensorView::of(values.data(), {2, 3});
  EXPECT_EQ(view.data(), values.data());
  EXPECT_EQ(view.dtype(), DType::kF64);
  EXPECT_EQ(view.device(), Device::cpu());
  EXPECT_EQ(view.num_elements(), 6);
  EXPECT_EQ(view.bytes(), 48u);
  EXPECT_EQ(view.to_string(), "float64[2,3]");
}

TEST(TensorView, OfConstMemoryOnlyReads) {
  const bf16 value(1.0f);
  const ConstTensorView view = ConstTensorView::of(&value, {});
  EXPECT_EQ(view.dtype(), DType::kBF16);
  EXPECT_EQ(view.bytes(), 2u);
  static_assert(std::is_same_v<decltype(view.data()), const void*>);
  static_assert(!std::is_convertible_v<ConstTensorView, TensorView>);
}

TEST(TensorView, OfWritableMemoryReadsAsWell) {
  float value = 1.0f;
  const TensorView writable(&value, DType::kF32, {1}, Device::cuda(2));
  const ConstTensorView view = writable;
  EXPECT_EQ(view.data(), &value);
  EXPECT_EQ(view.device(), Device::cuda(2));
  EXPECT_EQ(view.shape(), Shape({1}));
}

TEST(Device, ReadsAsKindAndIndex) {
  EXPECT_EQ(Device::cpu().to_string(), "cpu");
  EXPECT_EQ(Device::cuda(1).to_string(), "cuda:1");
  EXPECT_FALSE(Device::cuda(0) == Device::cuda(1));
  EXPECT_FALSE(Device::cuda(0) == Device::cpu());
}

}  // namespace
}  // namespace hvd
