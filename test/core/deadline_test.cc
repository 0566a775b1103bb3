#include "horovodpp/core/deadline.h"

#include <gtest/gtest.h>

namespace hvd {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

TEST(Deadline, IsSoMuchLaterThanNow) {
  const auto before = steady_clock::now();
  const auto deadline = deadline_after(std::chrono::hours(1));
  EXPECT_GE(deadline - before, std::chrono::hours(1));
  EXPECT_LE(deadline - steady_clock::now(), std::chrono::hours(1));
}

TEST(Deadline, IsTheEndOfTimeWhereTheSumWouldBeLater) {
  EXPECT_EQ(deadline_after(nanoseconds::max()),
            steady_clock::time_point::max());
}

}  // namespace
}  // namespace hvd
