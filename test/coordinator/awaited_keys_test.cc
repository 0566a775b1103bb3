// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/awaited_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd::coordinator {
namespace {

TEST(AwaitedKeys, ForgetsKeysOutOfFlight) {
  AwaitedKeys keys;
  const auto all = [](const Key&) { return true; };
  keys.add({.name = "a"}, all);
  keys.add({.name = "b"}, all);
  EXPECT_TRUE(keys.any(all));
  EXPECT_TRUE(keys.any([](const Key& key) { return key.name == "b"; }));
  EXPECT_EQ(keys.size(), 1u);
  keys.erase({.name = "b"});
  EXPECT_FALSE(keys.any(all));
}

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
