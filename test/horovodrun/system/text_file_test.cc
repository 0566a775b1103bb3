// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

TEST(TextFile, IsReadOrRefusedWithTheReason) {
  EXPECT_TRUE(read_text_file("/proc/self/status").ok());
  const auto reason = [](const std::string& path) {
    return std::string(read_text_file(path).status().message());
  };
  EXPECT_THAT(reason("/"), HasSubstr("is a folder"));
  EXPECT_THAT(reason("/dev/zero"), HasSubstr("too long"));
  EXPECT_THAT(reason("/nonexistent"), HasSubstr("No such file"));
}

}  // namespace
}  // namespace hvd::launcher
