// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Suspects, TravelWithTheReasonAndLeaveItsTextAlone) {
  const absl::Status why =
      with_suspects(absl::AbortedError("the job has stalled"), {7, 2, 7});
  EXPECT_EQ(why.message(), "the job has stalled");
  EXPECT_THAT(suspects_of(why), ElementsAre(2, 7));
  EXPECT_THAT(suspects_of(with_suspects(why, {})), IsEmpty());
}

TEST(FailureKind, TravelsBesideTheSuspects) {
  const absl::Status other =
      with_suspects(absl::AbortedError("host 'b' is silent"), {2});
  EXPECT_EQ(failure_kind_of(other), FailureKind::kOther);
  const absl::Status silent =
      with_failure_kind(other, FailureKind::kSilentNode);
  EXPECT_EQ(failure_kind_of(silent), FailureKind::kSilentNode);
  EXPECT_THAT(suspects_of(silent), ElementsAre(2));
  EXPECT_EQ(with_failure_kind(silent, FailureKind::kOther), other);
}

TEST(Suspects, AreEmptyIfNoneAreNamed) {
  EXPECT_THAT(suspects_of(absl::OkStatus()), IsEmpty());
  EXPECT_THAT(suspects_of(absl::AbortedError(
                  "rank 1 (host 'a', pid 7) does not answer")),
              IsEmpty());
}

}  // namespace
}  // namespace hvd
