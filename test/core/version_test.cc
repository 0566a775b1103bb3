#include "horovodpp/version.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd {
namespace {

// HVD_PROJECT_VERSION is CMake's.
TEST(Version, IsTheOneThatIsBuiltAndPackaged) {
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

}  // namespace
}  // namespace hvd
