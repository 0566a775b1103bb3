// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/usable_cores.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

TEST(UsableCores, AreAtLeastOne) { EXPECT_GE(usable_cores(), 1); }

}  // namespace
}  // namespace hvd::launcher
