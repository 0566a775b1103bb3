// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hvd {
namespace {

TEST(Buffer, DefaultIsEmpty) {
  const Buffer buffer;
  EXPECT_EQ(buffer.bytes(), 0u);
  EXPECT_EQ(buffer.num_elements(), 0);
  EXPECT_EQ(buffer.data<float>(), nullptr);
}

TEST(Buffer, IsAlignedToACacheLineAndWritableToItsEnd) {
  for (const DType dtype : kAllDTypes) {
    for (const std::int64_t length : {1, 63, 64, 65, 1000}) {
      const auto buffer = Buffer::allocate(dtype, {length});
      ASSERT_TRUE(buffer.ok());
      EXPECT_EQ(buffer->bytes(),
                static_cast<std::size_t>(length) * size_of(dtype));
      void* data = buffer->view().data();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % Buffer::kAlignment,
                0u);
      std::fill_n(static_cast<std::byte*>(data), buffer->bytes(),
                  std::byte{0x5a});
    }
  }
}

TEST(Buffer, WithoutElementsKeepsItsShape) {
  const auto buffer = Buffer::allocate(DType::kI64, {3, 0});
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->shape(), Shape({3, 0}));
  EXPECT_EQ(buffer->bytes(), 0u);
}

TEST(Buffer, RefusesAMalformedShape) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(Buffer::allocate(DType::kF32, {2, -3}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Buffer::allocate(DType::kF64, {1ll << 60}).status()));
}

TEST(Buffer, NamesTheTensorItHasNoMemoryFor) {
  const absl::Status status =
      Buffer::allocate(DType::kF64, {(1ll << 60) - 1}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_NE(status.message().find("float64["), absl::string_view::npos);
}

TEST(Buffer, GivesItsElementsOnlyByTheirType) {
  const auto buffer = Buffer::allocate(DType::kF32, {4});
  ASSERT_TRUE(buffer.ok());
  EXPECT_NE(buffer->data<float>(), nullptr);
  EXPECT_EQ(buffer->data<std::int32_t>(), nullptr);
}

TEST(Buffer, CopiesShareTheMemoryAndKeepItAlive) {
  Buffer kept;
  {
    auto buffer = Buffer::allocate(DType::kI32, {2});
    ASSERT_TRUE(buffer.ok());
    buffer->data<std::int32_t>()[1] = 7;
    kept = *buffer;
    EXPECT_EQ(kept.view().data(), buffer->view().data());
  }
  EXPECT_EQ(kept.data<std::int32_t>()[1], 7);
}

TEST(Buffer, CopyOfIsAsTheSourceAndApartFromIt) {
  std::vector<float> source(6);
  std::iota(source.begin(), source.end(), 1.0f);
  const auto copy = Buffer::copy_of(ConstTensorView::of(source.data(), {2, 3}));
  ASSERT_TRUE(copy.ok());
  source[5] = 0.0f;
  EXPECT_EQ(copy->shape(), Shape({2, 3}));
  EXPECT_EQ(copy->data<float>()[0], 1.0f);
  EXPECT_EQ(copy->data<float>()[5], 6.0f);
}

TEST(Buffer, OverGivenMemoryKeepsItAlive) {
  const auto memory = std::make_shared<std::array<std::byte, 8>>();
  const std::weak_ptr<void> watched = memory;
  auto buffer = Buffer::over({memory, memory->data()}, DType::kI32, {2});
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->view().data(), memory->data());
  EXPECT_EQ(buffer->bytes(), 8u);
  EXPECT_EQ(watched.use_count(), 2);
  buffer = Buffer();
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(
      Buffer::over({memory, memory->data()}, DType::kI32, {-1}).status()));
}

TEST(Buffer, CopyOfNoElementsReadsNoMemory) {
  const ConstTensorView empty(nullptr, DType::kF32, {0, 5});
  const auto copy = Buffer::copy_of(empty);
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->shape(), Shape({0, 5}));
}

TEST(Buffer, CopyOfDeviceMemoryIsRefused) {
  const ConstTensorView view(nullptr, DType::kF32, {1}, Device::cuda(1));
  const absl::Status status = Buffer::copy_of(view).status();
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_NE(status.message().find("cuda:1"), absl::string_view::npos);
}

}  // namespace
}  // namespace hvd
