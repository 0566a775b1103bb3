// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/fetch.h"

#include <gtest/gtest.h>

#include <vector>

namespace hvd::collective {
namespace {

TEST(FetchToWrite, LeavesMemoryAsItIs) {
  std::vector<std::byte> memory(10'000, std::byte{3});
  const std::vector<std::byte> before = memory;
  for (const std::size_t bytes : {0, 1, 64, 4096, 10'000}) {
    fetch_to_write(memory.data(), bytes);
  }
  EXPECT_EQ(memory, before);
}

}  // namespace
}  // namespace hvd::collective
