#include "horovodpp/coordinator/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hvd::coordinator {
namespace {

using ::testing::HasSubstr;

Request request() {
  Request r;
  r.name = "layer.0.weight";
  r.shape = Shape({3, 4, 5});
  return r;
}

std::vector<Message> one_of_each() {
  return {Propose{request()},
          Define{4, 2, request()},
          Reject{"x", "because"},
          Passed{9},
          Ready{{1, 2, 3}},
          ReadySeen{},
          Round{{{RecordKind::kRun, 1, false}, {RecordKind::kRetire, 2, true}}},
          RoundSeen{},
          Leave{},
          Closed{},
          Break{"rank 2 is gone"}};
}

TEST(Message, EveryKindSurvivesTheWire) {
  for (const Message& message : one_of_each()) {
    const std::string bytes = encode({11, message});
    const absl::StatusOr<Envelope> back = decode(bytes);
    ASSERT_EQ(back.status(), absl::OkStatus());
    EXPECT_EQ(back->epoch, 11u);
    EXPECT_EQ(back->message.index(), message.index());
    EXPECT_EQ(encode(*back), bytes);
  }
}

TEST(Message, RefusesEveryTruncationAndEveryAddition) {
  for (const Message& message : one_of_each()) {
    const std::string bytes = encode({1, message});
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_TRUE(
          absl::IsInvalidArgument(decode(bytes.substr(0, length)).status()));
    }
    EXPECT_FALSE(decode(bytes + '\0').ok());
  }
}

TEST(Message, SurvivesCorruption) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const auto messages = one_of_each();
    std::string bytes = encode({1, messages[random() % messages.size()]});
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<Envelope> decoded = decode(bytes);
    if (!decoded.ok()) continue;
    EXPECT_EQ(encode(*decoded).size(), bytes.size());
  }
}

TEST(Message, ALengthThatCannotBeAllocatesNothing) {
  std::string bytes = encode({1, Ready{{}}});
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_FALSE(decode(bytes).ok());
}

TEST(Message, NamesTheVersionItDoesNotSpeak) {
  std::string bytes = encode({1, Leave{}});
  bytes[4] = 9;
  EXPECT_THAT(std::string(decode(bytes).status().message()),
              HasSubstr("format 9 and not 1"));
}

}  // namespace
}  // namespace hvd::coordinator
