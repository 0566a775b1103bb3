// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace hvd::collective {
namespace {

class NcclWindowsTest : public ::testing::Test {
 protected:
  NcclWindowsTest() {
    windows_.add(memory_.data(), 64);
    windows_.add(memory_.data() + 64, 64);  // Happens to follow the first.
  }
  std::byte* at(std::size_t offset) { return memory_.data() + offset; }
  Piece piece(std::size_t offset, std::int64_t count) {
    return {.input = at(offset), .output = at(offset), .count = count};
  }
  std::uint64_t mark_of(std::size_t offset, std::size_t bytes) {
    NcclPlacement where(windows_);
    where.add(at(offset), bytes);
    return where.mark();
  }

  std::array<std::byte, 256> memory_ = {};
  NcclWindows windows_;
};

TEST_F(NcclWindowsTest, FindMemory) {
  EXPECT_EQ(windows_.find(at(8), 16)->window, 0u);
  EXPECT_EQ(windows_.find(at(8), 16)->offset, 8u);
  EXPECT_EQ(windows_.find(at(64), 64)->window, 1u);
  EXPECT_FALSE(windows_.find(at(60), 8));   // Spans two windows.
  EXPECT_FALSE(windows_.find(at(128), 8));  // Outside.
}

TEST_F(NcclWindowsTest, JoinAdjacentPiecesOfOneWindow) {
  const std::vector<Piece> pieces = {piece(0, 4), piece(16, 0), piece(16, 2),
                                     piece(32, 8), piece(64, 4)};
  const auto runs = windows_.joined(pieces, DType::kF32);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].count, 6);
  EXPECT_EQ(runs[1].input, at(32));
  EXPECT_EQ(runs[2].output,
            at(64));  // Apart on other ranks.
}

TEST_F(NcclWindowsTest, HaveMarksThatDistinguishLayouts) {
  EXPECT_EQ(mark_of(8, 4), mark_of(8, 16));
  EXPECT_NE(mark_of(8, 4), mark_of(12, 4));
  EXPECT_NE(mark_of(0, 4), mark_of(64, 4));
  EXPECT_NE(mark_of(0, 4), mark_of(200, 4));
  EXPECT_EQ(mark_of(150, 4), mark_of(200, 4));
}

TEST_F(NcclWindowsTest, ReportWhetherACallLiesWithin) {
  NcclPlacement where(windows_);
  EXPECT_FALSE(where.is_within());
  where.add(at(0), 4);
  where.add(at(70), 4);
  where.add(nullptr, 0);
  EXPECT_TRUE(where.is_within());
  where.add(at(130), 4);
  EXPECT_FALSE(where.is_within());
}

TEST_F(NcclWindowsTest, MakeNoMarkWithoutWindows) {
  const NcclWindows none;
  NcclPlacement where(none);
  where.add(at(0), 4);
  EXPECT_EQ(where.mark(), 0u);
  EXPECT_FALSE(where.is_within());
}

}  // namespace
}  // namespace hvd::collective
