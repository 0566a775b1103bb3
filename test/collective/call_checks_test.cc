// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/call_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hvd::collective {
namespace {

using ::testing::HasSubstr;

TEST(CallChecks, AcceptsAnAllgatherWithASizeForEachRank) {
  const std::vector<std::size_t> sizes = {4, 0, 7};
  EXPECT_TRUE(check_allgather(0, sizes, 1, 3).ok());
  EXPECT_TRUE(check_allgather(7, sizes, 2, 3).ok());
}

TEST(CallChecks, RefusesAnAllgatherWithMissingOrWrongSizes) {
  const std::vector<std::size_t> sizes = {4, 0, 7};
  const absl::Status missing = check_allgather(4, sizes, 0, 4);
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("between 4 ranks was given 3 sizes"));
  const absl::Status wrong = check_allgather(5, sizes, 0, 3);
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("contributes 5 bytes but is listed with 4"));
}

TEST(CallChecks, HoldsTheCountsOfAReducescatterToItsPieces) {
  const std::vector<Piece> pieces = {{nullptr, nullptr, 5},
                                     {nullptr, nullptr, 0}};
  const auto code = [&](const std::vector<std::int64_t>& counts) {
    return check_reducescatter(pieces, counts, 2).code();
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
  EXPECT_TRUE(check_reducescatter({}, {}, 2).ok());
}

TEST(CallChecks, HoldsTheSizesOfAnAlltoallToItsInput) {
  using Sizes = std::vector<std::size_t>;
  const auto code = [&](std::size_t input, const Sizes& send,
                        const Sizes& receive) {
    return check_alltoall(input, send, receive, 1, 2).code();
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
  EXPECT_TRUE(check_broadcast(2, 3).ok());
  for (const int root : {-1, 3}) {
    EXPECT_EQ(check_broadcast(root, 3).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace hvd::collective
