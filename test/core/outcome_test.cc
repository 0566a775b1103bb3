// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/outcome.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/error.h"

namespace hvd {
namespace {

TEST(Status, IsOkByDefault) {
  const Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::kOk);
  EXPECT_EQ(ok.message(), "");
  EXPECT_EQ(ok, Status(StatusCode::kOk, "of no use"));
  const Status failed(StatusCode::kAborted, "rank 3 left");
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.message(), "rank 3 left");
  EXPECT_NE(failed, ok);
  EXPECT_NE(failed, Status(StatusCode::kAborted, "rank 4 left"));
}

TEST(Status, PrintsLikeAbseils) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status theirs(static_cast<absl::StatusCode>(code), "text");
    const Status ours = theirs;
    EXPECT_EQ(ours.to_string(), theirs.ToString());
    std::ostringstream stream;
    stream << ours;
    EXPECT_EQ(stream.str(), theirs.ToString());
  }
}

TEST(Status, ConvertsToAndFromAbseils) {
  const auto give = []() -> absl::Status {
    return Status(StatusCode::kNotFound, "no host");
  };
  const auto take = [](const Status& status) { return status; };
  EXPECT_EQ(give(), absl::NotFoundError("no host"));
  EXPECT_EQ(take(absl::NotFoundError("no host")), give());
  EXPECT_TRUE(absl::IsNotFound(take(give())));
  EXPECT_TRUE(take(absl::OkStatus()).ok());
  EXPECT_TRUE(absl::Status(Status()).ok());
  EXPECT_EQ(take(give()).code(), absl::StatusCode::kNotFound);
}

StatusOr<std::unique_ptr<int>> parsed(int value) {
  if (value < 0) return absl::InvalidArgumentError("negative");
  return std::make_unique<int>(value);
}

TEST(StatusOr, HasAValueOrAReason) {
  EXPECT_EQ(**parsed(3), 3);
  EXPECT_TRUE(parsed(3).status().ok());
  EXPECT_EQ(parsed(-3).status().message(), "negative");
  EXPECT_EQ(StatusOr<int>().status().code(), StatusCode::kUnknown);
  EXPECT_EQ(StatusOr<int>(4).value_or(5), 4);
  EXPECT_EQ(StatusOr<int>(absl::UnknownError("")).value_or(5), 5);
  const StatusOr<std::string> text = "implicit";
  EXPECT_EQ(text->size(), 8u);
}

TEST(StatusOr, TheValueOfAFailureIsAnErrorAndNotTheEnd) {
  EXPECT_THROW(*parsed(-3), Error);
  EXPECT_THROW(parsed(-3).value(), Error);
  const StatusOr<std::string> failed = absl::AbortedError("gone");
  EXPECT_THROW(failed->size(), Error);
}

TEST(StatusOr, AStatusThatIsOkIsNoValue) {
  const StatusOr<int> failed = Status();
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::kInternal);
}

TEST(StatusOr, ConvertsToAndFromAbseils) {
  const auto theirs = [](int value) -> absl::StatusOr<std::unique_ptr<int>> {
    return parsed(value);
  };
  EXPECT_EQ(**theirs(3), 3);
  EXPECT_EQ(theirs(-3).status(), absl::InvalidArgumentError("negative"));
  const StatusOr<std::unique_ptr<int>> ours = theirs(4);
  EXPECT_EQ(**ours, 4);
  const StatusOr<std::unique_ptr<int>> failed = theirs(-4);
  EXPECT_EQ(failed.status(), absl::InvalidArgumentError("negative"));
  // Also from a type that converts to the value.
  const StatusOr<std::string> text = absl::StatusOr<const char*>("text");
  EXPECT_EQ(*text, "text");
  const auto failing = []() -> absl::StatusOr<int> {
    return Status(StatusCode::kAborted, "gone");
  };
  EXPECT_EQ(failing().status(), absl::AbortedError("gone"));
}

}  // namespace
}  // namespace hvd
