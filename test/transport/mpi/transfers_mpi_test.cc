// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/transfers.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "test/transport/mpi/wires.h"

namespace hvd::transport {
namespace {

class MpiTransfersTest : public MpiWires {};

TEST_F(MpiTransfersTest, TransfersBeyondTheLimitArrive) {
  MpiTransfers wires = transfers();
  std::uint32_t sequence = 0;
  for (std::size_t size :
       std::initializer_list<std::size_t>{999, 1000, 1001, 2000, 123456}) {
    const DataTag tag = {.epoch = 1, .sequence = sequence++};
    std::string mine(size, '\0');
    for (std::size_t i = 0; i < size; ++i) mine[i] = static_cast<char>(i / 7);
    std::string theirs(size, '?');
    const auto in = wires.post_receive(previous(), tag, bytes_of(theirs));
    const auto out =
        wires.post_send(next(), tag, bytes_of(std::as_const(mine)));
    ASSERT_TRUE(in.ok() && out.ok());
    EXPECT_TRUE(finish(wires, *in).ok());
    EXPECT_TRUE(finish(wires, *out).ok());
    EXPECT_TRUE(theirs == mine) << size;
  }
}

// A longer message waits for an answer, which queues behind the receiver's own
// messages.
TEST_F(MpiTransfersTest, NoMessageIsLongerThanTcpSendsAtOnce) {
  constexpr int kSentAtOnce = 65'536 - 100;  // Of Open MPI, without headers.
  MpiTransfers wires({.comm = world_.comm(),
                      .rank = world_.rank(),
                      .tags = world_.tags(),
                      .generation = world_.generation()});
  const DataTag tag = {.epoch = 11, .sequence = 0};
  const std::string mine(200'000, 'm');
  const auto out = wires.post_send(next(), tag, bytes_of(mine));
  ASSERT_TRUE(out.ok());
  std::string theirs;
  while (theirs.size() < mine.size()) {
    MPI_Status about;
    MPI_Probe(previous(), world_.tags().data(world_.generation(), tag),
              world_.comm(), &about);
    int count = 0;
    MPI_Get_count(&about, MPI_BYTE, &count);
    EXPECT_LE(count, kSentAtOnce);
    const std::size_t before = theirs.size();
    theirs.resize(before + static_cast<std::size_t>(count));
    MPI_Recv(theirs.data() + before, count, MPI_BYTE, about.MPI_SOURCE,
             about.MPI_TAG, world_.comm(), MPI_STATUS_IGNORE);
  }
  EXPECT_EQ(theirs, mine);
  EXPECT_TRUE(finish(wires, *out).ok());
}

TEST_F(MpiTransfersTest, AFailureNamesItsPeer) {
  MpiTransfers wires = transfers();
  const int no_rank = world_.size();
  const auto sent =
      wires.post_send(no_rank, {.epoch = 1, .sequence = 0}, bytes_of("x"));
  ASSERT_TRUE(absl::IsInternal(sent.status())) << sent.status();
  EXPECT_EQ(peer_of(sent.status()), no_rank);
  EXPECT_EQ(peer_of(absl::OkStatus()), std::nullopt);
}

TEST_F(MpiTransfersTest, AnotherNumberOfChunksIsSeen) {
  MpiTransfers wires = transfers();
  std::uint32_t sequence = 0;
  const std::pair<std::size_t, std::size_t> cases[] = {
      {1000, 2000}, {2000, 1000}, {500, 5000},
      {5000, 500},  {0, 1000},    {1000, 0}};
  for (const auto& [sent, expected] : cases) {
    const DataTag tag = {.epoch = 2, .sequence = sequence++};
    const std::string mine(sent, 'm');
    std::string theirs(expected, '?');
    const auto in = wires.post_receive(previous(), tag, bytes_of(theirs));
    const auto out = wires.post_send(next(), tag, bytes_of(mine));
    ASSERT_TRUE(in.ok() && out.ok());
    EXPECT_TRUE(absl::IsInvalidArgument(finish(wires, *in)))
        << sent << " for " << expected;
    EXPECT_TRUE(finish(wires, *out).ok());
  }
  // The next transfer on the same tag is correct.
  for (const auto& [sent, expected] : cases) {
    const DataTag tag = {.epoch = 3, .sequence = 0};
    const std::string wrong(sent, 'w');
    const std::string right(expected, 'r');
    std::string first(expected, '?');
    std::string second(expected, '?');
    const auto in1 = wires.post_receive(previous(), tag, bytes_of(first));
    const auto in2 = wires.post_receive(previous(), tag, bytes_of(second));
    const auto out1 = wires.post_send(next(), tag, bytes_of(wrong));
    const auto out2 = wires.post_send(next(), tag, bytes_of(right));
    ASSERT_TRUE(in1.ok() && in2.ok() && out1.ok() && out2.ok());
    EXPECT_TRUE(finish(wires, *in2).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(finish(wires, *in1)));
    EXPECT_TRUE(finish(wires, *out1).ok());
    EXPECT_TRUE(finish(wires, *out2).ok());
    EXPECT_EQ(second, right);
  }
  keep_leftovers_of(wires);
}

TEST_F(MpiTransfersTest, AnUnreceivedAbandonedSendKeepsItsMemory) {
  MpiTransfers wires({.comm = world_.comm(),
                      .rank = world_.rank(),
                      .tags = world_.tags(),
                      .generation = world_.generation()});
  // Above the eager limit of any MPI. Never freed, because MPI may still read
  // it.
  static const auto* large = new std::string(std::size_t{8} << 20, 'l');
  const DataTag tag = {.epoch = 9, .sequence = 0};
  const auto out = wires.post_send(next(), tag, bytes_of(*large));
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(wires.abandon(*out));
  std::string theirs(8, '?');
  const auto in = wires.post_receive(previous(), {.epoch = 10, .sequence = 0},
                                     bytes_of(theirs));
  ASSERT_TRUE(in.ok());
  EXPECT_TRUE(wires.abandon(*in));
  keep_leftovers_of(wires);
}

}  // namespace
}  // namespace hvd::transport
