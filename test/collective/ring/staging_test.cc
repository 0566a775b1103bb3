// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/staging.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

namespace hvd::collective {
namespace {

TEST(Staging, GivesAlignedSlotsThatDoNotOverlap) {
  Staging staging(3, 100);
  ASSERT_TRUE(staging.map().ok());
  ASSERT_TRUE(staging.map().ok());
  EXPECT_GE(staging.slot_bytes(), 100u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(staging.slot(i)) % 64, 0u);
    std::memset(staging.slot(i), i, staging.slot_bytes());
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(staging.slot(i)[0], static_cast<std::byte>(i));
    EXPECT_EQ(staging.slot(i)[staging.slot_bytes() - 1],
              static_cast<std::byte>(i));
  }
}

TEST(Staging, ReportsAFailedAllocation) {
  Staging staging(1, std::numeric_limits<std::size_t>::max() / 2);
  const absl::Status status = staging.map();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(Staging, LeavesARetiredSlotMappedAndFindsAnother) {
  std::byte* memory = nullptr;
  {
    Staging staging(2, 64);
    ASSERT_TRUE(staging.map().ok());
    memory = staging.slot(0);
    std::byte* kept = staging.slot(1);
    *memory = std::byte{42};
    staging.retire(memory);
    ASSERT_TRUE(staging.map().ok());
    EXPECT_EQ(staging.slot(1), kept);
    EXPECT_NE(staging.slot(0), memory);
    *staging.slot(0) = std::byte{1};
  }
  EXPECT_EQ(*memory, std::byte{42});
}

}  // namespace
}  // namespace hvd::collective
