#include "horovodpp/collective/call_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
              HasSubstr("brings 5 bytes but is listed with 4"));
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
