// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/file_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace hvd {
namespace {

TEST(FileError, HasTheCodeThatSuits) {
  const auto code = [](int error) { return file_error(error, "f").code(); };
  EXPECT_EQ(code(ENOENT), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(EACCES), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(ENOSPC), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(EWOULDBLOCK), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(EIO), absl::StatusCode::kInternal);
  EXPECT_EQ(file_error(ENOENT, "'f'").message(),
            "'f': No such file or directory");
}

}  // namespace
}  // namespace hvd
