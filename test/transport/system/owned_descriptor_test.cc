// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/owned_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

namespace hvd::transport {
namespace {

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(OwnedDescriptor, IsClosedByItsLastOwner) {
  const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    OwnedDescriptor kept;
    EXPECT_FALSE(kept.is_there());
    {
      OwnedDescriptor first(number);
      EXPECT_TRUE(first.is_there());
      OwnedDescriptor second(std::move(first));
      EXPECT_TRUE(second.is_there());
      kept = std::move(second);
    }
    EXPECT_TRUE(kept.is_there());
    EXPECT_EQ(kept.number(), number);
  }
  EXPECT_FALSE(is_open(number));
}

TEST(OwnedDescriptor, DoesNotCloseAnotherFileOfItsNumber) {
  int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    const OwnedDescriptor mine(number);
    ::close(number);
    EXPECT_FALSE(mine.is_there());
    ASSERT_EQ(::open("/dev/zero", O_RDONLY | O_CLOEXEC), number);
    EXPECT_FALSE(mine.is_there());
  }
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

}  // namespace
}  // namespace hvd::transport
