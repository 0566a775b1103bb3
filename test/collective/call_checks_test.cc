// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/call_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hvd::collective {
namespace {

using ::testing::HasSubstr;

// A check reads sizes, not memory.
constexpr std::byte kByte = {};
constexpr Reduction kSum = {};
constexpr std::size_t kSizes[] = {4, 0, 7};

Allgather allgather(std::size_t mine) {
  return {{&kByte, mine}, kSizes, nullptr};
}

TEST(CallChecks, AcceptsAnAllgatherWithASizeForEachRank) {
  EXPECT_TRUE(check(allgather(0), 1, 3).ok());
  EXPECT_TRUE(check(allgather(7), 2, 3).ok());
}

TEST(CallChecks, RefusesAnAllgatherWithMissingOrWrongSizes) {
  const absl::Status missing = check(allgather(4), 0, 4);
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("between 4 ranks was given 3 sizes"));
  const absl::Status wrong = check(allgather(5), 0, 3);
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("contributes 5 bytes but is listed with 4"));
}

TEST(CallChecks, ChecksTheCountsOfAReducescatter) {
  const std::vector<Piece> pieces = {{nullptr, nullptr, 5},
                                     {nullptr, nullptr, 0}};
  const auto code = [&](const std::vector<std::int64_t>& counts) {
    return check(Reducescatter{pieces, counts, kSum}, 0, 2).code();
  };
  EXPECT_EQ(code({2, 3, 0, 0}), absl::StatusCode::kOk);
  EXPECT_EQ(code({0, 5, 0, 0}), absl::StatusCode::kOk);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{2, 3},
        {2, 2, 0, 0},
        {3, 3, 0, 0},
        {6, -1, 0, 0},
        {-1, 6, 0, 0},
        {2, 3, 0, 1},
        {kMost, kMost, 0, 0}}) {
    EXPECT_EQ(code(wrong), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(check(Reducescatter{{}, {}, kSum}, 0, 2).ok());
}

TEST(CallChecks, ChecksTheSizesOfAnAlltoall) {
  using Sizes = std::vector<std::size_t>;
  const auto code = [&](std::size_t input, const Sizes& send,
                        const Sizes& receive) {
    const Alltoall what = {{&kByte, input}, send, nullptr, receive};
    return check(what, 1, 2).code();
  };
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(code(7, {3, 4}, {99, 4}), absl::StatusCode::kOk);
  EXPECT_EQ(code(0, {0, 0}, {99, 0}), absl::StatusCode::kOk);
  EXPECT_EQ(code(8, {3, 4}, {99, 4}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(6, {3, 4}, {99, 4}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(6, {kMost, 7}, {1, 7}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(7, {3, 4}, {99, 5}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(7, {3, 4, 0}, {9, 4}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(7, {3, 4}, {9, 4, 0}), absl::StatusCode::kInvalidArgument);
}

TEST(CallChecks, RefusesARootThatIsNoRank) {
  EXPECT_TRUE(check(Broadcast{nullptr, nullptr, 0, 2}, 0, 3).ok());
  for (const int root : {-1, 3}) {
    EXPECT_EQ(check(Broadcast{nullptr, nullptr, 0, root}, 0, 3).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace hvd::collective
