// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/awaited_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd::coordinator {
namespace {

TEST(AwaitedKeys, StaysSmallAfterManyKeys) {
  AwaitedKeys keys;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = std::to_string(i);
    keys.add({.name = name}, [](const Key&) { return false; });
    EXPECT_LE(keys.size(), 32u);
  }
}

}  // namespace
}  // namespace hvd::coordinator
