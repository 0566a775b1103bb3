// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/datagram_beats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::transport {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;

// Adds the loopback address, so that the test runs without a network.
DatagramBeats::Contact here(const DatagramBeats& beats) {
  DatagramBeats::Contact contact = beats.contact();
  contact.addresses = 1;
  contact.address[0] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  return contact;
}

TEST(DatagramBeats, ArriveOnceWithTheirSender) {
  const DatagramBeats mine;
  const DatagramBeats theirs;
  ASSERT_NE(mine.contact().port, 0);
  EXPECT_THAT(mine.receive(), IsEmpty());
  theirs.send(here(mine), 7);
  EXPECT_THAT(mine.receive(), Contains(7));
  EXPECT_THAT(mine.receive(), IsEmpty());
  EXPECT_THAT(theirs.receive(), IsEmpty());
}

TEST(DatagramBeats, CountWithTheTokenOfTheirReceiverAlone) {
  const DatagramBeats mine;
  const DatagramBeats theirs;
  DatagramBeats::Contact another = here(mine);
  ++another.token;
  theirs.send(another, 7);
  theirs.send(here(mine), 8);
  EXPECT_THAT(mine.receive(), Each(8));
}

TEST(DatagramBeats, AreDroppedWithoutASocket) {
  const DatagramBeats mine;
  DatagramBeats::Contact none = here(mine);
  none.port = 0;
  mine.send(none, 1);
  EXPECT_THAT(mine.receive(), IsEmpty());
}

}  // namespace
}  // namespace hvd::transport
