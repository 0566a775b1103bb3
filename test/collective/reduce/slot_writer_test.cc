// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/slot_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hvd::collective {
namespace {

// For each way of copying, and while the writer measures both.
TEST(SlotWriter, CopiesExactlyTheGivenBytes) {
  std::vector<std::byte> from(70'000);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<std::byte>(i * 31 + 7);
  }
  SlotWriter writer;
  for (int step = 0; step < 30; ++step) {
    writer.begin_step();
    for (const std::size_t bytes :
         {0, 1, 500, 16'383, 16'384, 16'385, 65'000}) {
      std::vector<std::byte> to(from.size(), std::byte{0xee});
      const std::size_t at = static_cast<std::size_t>(step) * 5;
      writer.copy(to.data() + at, from.data() + at, bytes);
      writer.finish();
      std::vector<std::byte> expected(from.size(), std::byte{0xee});
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(at));
      ASSERT_EQ(to, expected) << bytes << " bytes in step " << step;
    }
  }
}

TEST(FetchToWrite, ChangesNoMemory) {
  std::vector<std::byte> memory(10'000, std::byte{3});
  const std::vector<std::byte> before = memory;
  for (const std::size_t bytes : {0, 1, 64, 4096, 10'000}) {
    fetch_to_write(memory.data(), bytes);
  }
  EXPECT_EQ(memory, before);
}

}  // namespace
}  // namespace hvd::collective
