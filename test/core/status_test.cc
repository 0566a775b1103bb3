// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/status.h"
#include "horovodpp/core/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace hvd {
namespace {

absl::StatusOr<std::unique_ptr<int>> parse(int value) {
  if (value < 0) return absl::InvalidArgumentError("negative");
  return std::make_unique<int>(value);
}

absl::StatusOr<int> sum(int a, int b) {
  HVD_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, parse(a));
  HVD_ASSIGN_OR_RETURN(const auto second, parse(b));
  return *first + *second;
}

absl::Status check(int a, int b, int* evaluations) {
  HVD_RETURN_IF_ERROR((++*evaluations, parse(a).status()));
  if (b != 0)
    HVD_RETURN_IF_ERROR(parse(b).status());
  else
    ++*evaluations;
  return absl::OkStatus();
}

TEST(Status, AssignOrReturnUnwrapsMoveOnlyValues) {
  EXPECT_EQ(*sum(1, 2), 3);
  EXPECT_EQ(sum(-1, 2).status().message(), "negative");
  EXPECT_EQ(sum(1, -2).status().message(), "negative");
}

TEST(Status, ReturnIfErrorEvaluatesOnceAndLeavesElseAlone) {
  int evaluations = 0;
  EXPECT_FALSE(check(-1, 1, &evaluations).ok());
  EXPECT_EQ(evaluations, 1);
  EXPECT_TRUE(check(1, 1, &evaluations).ok());
  EXPECT_EQ(evaluations, 2);
  EXPECT_FALSE(check(1, -1, &evaluations).ok());
  EXPECT_EQ(evaluations, 3);
  EXPECT_TRUE(check(1, 0, &evaluations).ok());
  EXPECT_EQ(evaluations, 5);
}

TEST(Status, AnErrorThatIsThrownCarriesTheStatus) {
  EXPECT_NO_THROW(throw_if_error(absl::OkStatus()));
  try {
    throw_if_error(absl::AbortedError("rank 3 left"));
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 3 left");
    EXPECT_TRUE(absl::IsAborted(error.status()));
  }
}

TEST(Status, AWrongArgumentIsAnError) {
  try {
    throw InvalidArgument("dimension \x01");
  } catch (const std::exception& exception) {  // Unambiguous base.
    EXPECT_STREQ(exception.what(), "dimension \\x01");
    const auto* error = dynamic_cast<const Error*>(&exception);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->status(), absl::InvalidArgumentError("dimension \\x01"));
  }
}

TEST(Status, ValueOrThrowGivesTheValueOrThrows) {
  EXPECT_EQ(*value_or_throw(parse(4)), 4);
  EXPECT_THROW(value_or_throw(parse(-4)), Error);
}

TEST(Status, AnnotateAddsTextAndKeepsTheCode) {
  EXPECT_TRUE(annotate(absl::OkStatus(), "init").ok());
  const absl::Status status = annotate(absl::NotFoundError("no host"), "init");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(), "init: no host");
}

TEST(Status, ErrnoErrorNamesTheCallAndTheCause) {
  errno = ENOENT;
  const absl::Status status = errno_error("open");
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_EQ(status.message(), "open: No such file or directory");
}

}  // namespace
}  // namespace hvd
