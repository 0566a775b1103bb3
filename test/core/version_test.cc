// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/version.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd {
namespace {

// HVD_PROJECT_VERSION is CMake's.
TEST(Version, MatchesTheBuild) {
  EXPECT_STREQ(HVD_VERSION_STRING, HVD_PROJECT_VERSION);
  EXPECT_STREQ(version(), HVD_PROJECT_VERSION);
  EXPECT_EQ(std::to_string(HVD_VERSION_MAJOR) + "." +
                std::to_string(HVD_VERSION_MINOR) + "." +
                std::to_string(HVD_VERSION_PATCH),
            HVD_PROJECT_VERSION);
}

#if HVD_VERSION < HVD_MAKE_VERSION(0, 1, 0) || \
    HVD_MAKE_VERSION(1, 0, 0) <= HVD_MAKE_VERSION(0, 99, 99)
#error "versions are not in order"
#endif

TEST(Version, IsCompatibleWithHeadersOfItsMinorVersion) {
  EXPECT_TRUE(Headers(HVD_VERSION).go_with_library());
  EXPECT_TRUE(Headers(HVD_MAKE_VERSION(0, 1, 99)).go_with_library());
  EXPECT_FALSE(Headers(HVD_MAKE_VERSION(0, 2, 0)).go_with_library());
  EXPECT_FALSE(Headers(HVD_MAKE_VERSION(0, 0, 9)).go_with_library());
  EXPECT_FALSE(Headers(HVD_MAKE_VERSION(1, 1, 0)).go_with_library());
}

}  // namespace
}  // namespace hvd
