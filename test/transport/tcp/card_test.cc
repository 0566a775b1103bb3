// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/card.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hvd::transport {
namespace {

Card sample(int rank) {
  Card card = {.rank = rank,
               .size = 4,
               .peer = {.host = "node" + std::to_string(rank),
                        .pid = 4711 + rank,
                        .node = "machine"}};
  card.endpoints = {{.address = kLoopbackAddress, .port = 65535},
                    {.address = {0xfd, 0, 1}, .port = 1}};
  card.contact = {.token = 12345678901234567u, .port = 99, .addresses = 1};
  card.contact.address[0] = kLoopbackAddress;
  return card;
}

void expect_equal(const Card& one, const Card& other) {
  EXPECT_EQ(one.rank, other.rank);
  EXPECT_EQ(one.size, other.size);
  EXPECT_EQ(one.peer.host, other.peer.host);
  EXPECT_EQ(one.peer.pid, other.peer.pid);
  EXPECT_EQ(one.peer.node, other.peer.node);
  ASSERT_EQ(one.endpoints.size(), other.endpoints.size());
  for (std::size_t i = 0; i < one.endpoints.size(); ++i) {
    EXPECT_EQ(to_string(one.endpoints[i]), to_string(other.endpoints[i]));
  }
  EXPECT_EQ(one.contact.token, other.contact.token);
  EXPECT_EQ(one.contact.port, other.contact.port);
  EXPECT_EQ(one.contact.addresses, other.contact.addresses);
  EXPECT_EQ(one.contact.address, other.contact.address);
}

TEST(Card, ArrivesAsItWasSent) {
  const auto card = card_in(message_of(sample(2)));
  ASSERT_TRUE(card.ok()) << card.status();
  expect_equal(*card, sample(2));
  const auto table = table_in(message_of(std::vector{sample(0), sample(1)}));
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->size(), 2u);
  expect_equal((*table)[1], sample(1));
  EXPECT_EQ(text_in(message_of(MeetingMessage::kRefusal, "why")), "why");
}

TEST(Card, ThatIsCutOffOrSurplusIsRefused) {
  const std::string whole = message_of(sample(1));
  const std::string table = message_of(std::vector{sample(0), sample(1)});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(card_in(whole.substr(0, bytes)).status()));
  }
  for (std::size_t bytes = 0; bytes < table.size(); ++bytes) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(table_in(table.substr(0, bytes)).status()));
  }
  EXPECT_FALSE(card_in(whole + "x").ok());
  EXPECT_FALSE(card_in(table).ok());
}

// A decoder refuses random bytes, or returns a card; sanitizers see more.
TEST(Card, OfRandomBytesDoesNoHarm) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = message_of(sample(round % 4));
    for (int change = 0; change < 3; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto card = card_in(bytes);
    if (card.ok()) {
      EXPECT_LE(card->contact.addresses, DatagramBeats::Contact::kMaxAddresses);
    }
    bytes[0] = static_cast<char>(MeetingMessage::kTable);
    static_cast<void>(table_in(bytes));
  }
}

TEST(Endpoint, IsReadAsItIsWritten) {
  const auto endpoints = parse_endpoints("10.1.2.3:4711,[fd00::1]:80");
  ASSERT_TRUE(endpoints.ok()) << endpoints.status();
  ASSERT_EQ(endpoints->size(), 2u);
  EXPECT_EQ(to_string((*endpoints)[0]), "10.1.2.3:4711");
  EXPECT_EQ(to_string((*endpoints)[1]), "[fd00::1]:80");
  for (const char* wrong : {"", ":", "a:1", "10.1.2.3", "10.1.2.3:0",
                            "10.1.2.3:65536", "10.1.2.3:1,", "[::1]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(parse_endpoints(wrong).status()))
        << wrong;
  }
}

}  // namespace
}  // namespace hvd::transport
