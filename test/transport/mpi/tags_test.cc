// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/tags.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace hvd::transport {
namespace {

constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();

TEST(MpiTags, StayWithinEveryUpperBound) {
  for (int bound : {32767, 32768, 1 << 20, (1 << 28) - 1, 2147483647}) {
    const MpiTags tags(bound);
    for (std::uint32_t value : {0u, 1u, 77u, 123'456u, kMax}) {
      const int tag = tags.data(value, {.epoch = value, .sequence = value});
      EXPECT_GE(tag, 0);
      EXPECT_LE(tag, bound);
      EXPECT_LE(tags.exchange(value), bound);
    }
  }
}

TEST(MpiTags, KeepMailExchangeAndDataApart) {
  const MpiTags tags(32767);
  std::set<int> mail;
  std::set<int> data;
  for (std::uint32_t generation = 0; generation < 8; ++generation) {
    mail.insert(tags.mail(generation));
    mail.insert(tags.exchange(generation));
    for (std::uint32_t i = 0; i < 32; ++i) {
      data.insert(tags.data(generation, {.epoch = i, .sequence = 31 - i}));
    }
  }
  EXPECT_EQ(mail.size(), 16u);
  EXPECT_EQ(data.size(), 8u * 32u);
  for (int tag : mail) EXPECT_FALSE(data.contains(tag));
}

TEST(MpiTags, TellNeighboursApart) {
  for (int bound : {32767, 2147483647}) {
    const MpiTags tags(bound);
    for (std::uint32_t epoch : {0u, 5u, kMax - 1}) {
      for (std::uint32_t sequence : {0u, 9u, kMax - 1}) {
        const std::set<int> near = {
            tags.data(1, {.epoch = epoch, .sequence = sequence}),
            tags.data(1, {.epoch = epoch + 1, .sequence = sequence}),
            tags.data(1, {.epoch = epoch, .sequence = sequence + 1}),
            tags.data(2, {.epoch = epoch, .sequence = sequence})};
        EXPECT_EQ(near.size(), 4u);
      }
    }
  }
}

}  // namespace
}  // namespace hvd::transport
