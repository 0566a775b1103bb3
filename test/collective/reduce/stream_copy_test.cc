// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/stream_copy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace hvd::collective {
namespace {

using RawBytes = std::vector<std::byte>;

RawBytes numbered(std::size_t size) {
  RawBytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 37 + 1);
  }
  return bytes;
}

TEST(StreamCopy, CopiesExactlyTheGivenBytesAtAnyOffset) {
  const RawBytes from = numbered(5000);
  for (const std::size_t bytes :
       {0, 1, 63, 64, 511, 512, 513, 576, 640, 1000, 4096, 4801}) {
    for (const std::size_t out : {0, 1, 8, 31, 63}) {
      for (const std::size_t in : {0, 1, 4, 63}) {
        RawBytes to(5000, std::byte{0xee});
        stream_copy(to.data() + out, from.data() + in, bytes);
        finish_streams();
        RawBytes expected(5000, std::byte{0xee});
        for (std::size_t i = 0; i < bytes; ++i)
          expected[out + i] = from[in + i];
        ASSERT_EQ(to, expected)
            << bytes << " bytes from +" << in << " to +" << out;
      }
    }
  }
}

TEST(StreamCopy, IsVisibleBeforeALaterFlag) {
  constexpr int kRounds = 200;
  const RawBytes odd = numbered(8192);
  const RawBytes even(8192, std::byte{7});
  RawBytes shared(8192);
  std::atomic<int> written{0};
  std::atomic<int> read{0};
  std::thread reader([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (written.load() < round) std::this_thread::yield();
      EXPECT_EQ(shared, round % 2 == 1 ? odd : even) << "in round " << round;
      read.store(round);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    stream_copy(shared.data(), round % 2 == 1 ? odd.data() : even.data(),
                shared.size());
    finish_streams();
    written.store(round);
    while (read.load() < round) std::this_thread::yield();
  }
  reader.join();
}

}  // namespace
}  // namespace hvd::collective
