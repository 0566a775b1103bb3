// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/messages/match_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace hvd::runtime {
namespace {

using coordinator::kAnyRank;

Wanted receive(int from, int tag, coordinator::ProcessSetId set = 0) {
  auto submission = std::make_shared<coordinator::Submission>();
  submission->request.kind = coordinator::RequestKind::kReceive;
  submission->request.key.process_set = set;
  submission->peer = from;
  submission->tag = tag;
  return {.submission = std::move(submission)};
}

Offered message(int from, int tag, std::uint32_t number,
                coordinator::ProcessSetId set = 0) {
  return {.from = from, .number = number, .process_set = set, .tag = tag};
}

TEST(MatchTable, PairsAMessageWithTheFirstReceiveThatFits) {
  MatchTable table;
  Wanted of_two = receive(2, 7);
  Wanted of_any = receive(kAnyRank, 7);
  Wanted of_one = receive(1, 7);
  const auto any = of_any.submission;
  const auto one = of_one.submission;
  EXPECT_FALSE(table.want(std::move(of_two)));
  EXPECT_FALSE(table.want(std::move(of_any)));
  EXPECT_FALSE(table.want(std::move(of_one)));
  EXPECT_EQ(table.wanted(), 3u);
  EXPECT_EQ(table.offer(message(1, 7, 0))->wanted.submission, any);
  EXPECT_EQ(table.offer(message(1, 7, 1))->wanted.submission, one);
  EXPECT_FALSE(table.offer(message(1, 7, 2)));
  EXPECT_EQ(table.wanted(), 1u);
}

TEST(MatchTable, PairsAReceiveWithTheFirstMessageThatFits) {
  MatchTable table;
  EXPECT_FALSE(table.offer(message(2, 7, 10)));
  EXPECT_FALSE(table.offer(message(1, 7, 20)));
  EXPECT_FALSE(table.offer(message(1, 7, 21)));
  EXPECT_EQ(table.want(receive(1, 7))->offered.number, 20u);
  EXPECT_EQ(table.want(receive(kAnyRank, 7))->offered.number, 10u);
  EXPECT_EQ(table.want(receive(kAnyRank, 7))->offered.number, 21u);
  EXPECT_FALSE(table.want(receive(kAnyRank, 7)));
}

TEST(MatchTable, TagsAndProcessSetsKeepMessagesApart) {
  MatchTable table;
  EXPECT_FALSE(table.offer(message(1, 7, 0)));
  EXPECT_FALSE(table.want(receive(1, 8)));
  EXPECT_FALSE(table.want(receive(1, 7, 2)));
  EXPECT_TRUE(table.offer(message(1, 8, 1)));
  EXPECT_TRUE(table.offer(message(1, 7, 2, 2)));
  EXPECT_TRUE(table.want(receive(1, 7)));
}

TEST(MatchTable, DropsWhatIsOfAProcessSet) {
  MatchTable table;
  table.want(receive(1, 7, 2));
  table.want(receive(1, 7, 3));
  Offered own = message(0, 1, 0, 2);
  own.own = std::make_shared<coordinator::Submission>();
  table.offer(std::move(own));
  EXPECT_EQ(table.drop(2).size(), 2u);
  EXPECT_EQ(table.wanted(), 1u);
  EXPECT_EQ(table.all_wanted().size(), 1u);
  EXPECT_EQ(table.drop(std::nullopt).size(), 1u);
  EXPECT_EQ(table.wanted(), 0u);
}

}  // namespace
}  // namespace hvd::runtime
