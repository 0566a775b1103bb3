// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/waiting_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "horovodpp/transport/tcp/card.h"

namespace hvd::transport {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kFirst = WaitingRoom::kFirstNumber;

// A room, and the messages that its guests got.
class Room {
 public:
  absl::Status say(int guest, MeetingMessage kind,
                   const std::vector<std::uint32_t>& numbers = {}) {
    return room_.take(guest, numbers_of(kind, numbers));
  }
  void leave(int guest) { room_.left(guest); }
  int size_of(std::uint32_t growth) const { return room_.size_of(growth); }
  // The last message of a guest; kMissing if it has none.
  MeetingMessage last(int guest) const {
    const auto found = last_.find(guest);
    return found == last_.end() ? MeetingMessage::kMissing
                                : kind_of(found->second);
  }
  std::vector<std::uint32_t> numbers(int guest, std::size_t count) const {
    return numbers_in(last_.at(guest), count)
        .value_or(std::vector<std::uint32_t>());
  }
  std::string text(int guest) const { return text_in(last_.at(guest)); }
  void forget() { last_.clear(); }

 private:
  std::map<int, std::string> last_;
  WaitingRoom room_{[this](int guest, const std::string& message) {
    last_[guest] = message;
  }};
};

// Guests of a job of two ranks, and two newcomers.
constexpr int kRank0 = 10;
constexpr int kRank1 = 11;
constexpr int kOld = 20;
constexpr int kYoung = 21;

TEST(WaitingRoom, TellsWatchersHowManyWait) {
  Room room;
  ASSERT_TRUE(room.say(kRank0, MeetingMessage::kWatch).ok());
  EXPECT_THAT(room.numbers(kRank0, 1), ElementsAre(0u));
  ASSERT_TRUE(room.say(kOld, MeetingMessage::kWait).ok());
  EXPECT_THAT(room.numbers(kRank0, 1), ElementsAre(1u));
  ASSERT_TRUE(room.say(kYoung, MeetingMessage::kWait).ok());
  EXPECT_THAT(room.numbers(kRank0, 1), ElementsAre(2u));
  room.leave(kOld);
  EXPECT_THAT(room.numbers(kRank0, 1), ElementsAre(1u));
}

TEST(WaitingRoom, AdmitsThoseWhoHaveWaitedLongest) {
  Room room;
  ASSERT_TRUE(room.say(kOld, MeetingMessage::kWait).ok());
  ASSERT_TRUE(room.say(kYoung, MeetingMessage::kWait).ok());
  ASSERT_TRUE(room.say(kRank0, MeetingMessage::kAdmit, {2, 3}).ok());
  EXPECT_THAT(room.numbers(kRank0, 3), ElementsAre(kFirst, 0u, 3u));
  EXPECT_THAT(room.numbers(kOld, 3), ElementsAre(kFirst, 2u, 3u));
  EXPECT_EQ(room.last(kYoung), MeetingMessage::kMissing);
  EXPECT_EQ(room.size_of(kFirst), 3);
}

TEST(WaitingRoom, AdmitsNobodyToAFullJob) {
  Room room;
  ASSERT_TRUE(room.say(kOld, MeetingMessage::kWait).ok());
  ASSERT_TRUE(room.say(kRank0, MeetingMessage::kAdmit, {2, 2}).ok());
  EXPECT_THAT(room.numbers(kRank0, 3), ElementsAre(0u, 0u, 0u));
  EXPECT_EQ(room.last(kOld), MeetingMessage::kMissing);
}

// A room in which a job of two ranks admits two newcomers, all of them members.
void begin_growth(Room& room) {
  ASSERT_TRUE(room.say(kOld, MeetingMessage::kWait).ok());
  ASSERT_TRUE(room.say(kYoung, MeetingMessage::kWait).ok());
  ASSERT_TRUE(room.say(kRank0, MeetingMessage::kAdmit, {2, 4}).ok());
  ASSERT_TRUE(room.say(kRank1, MeetingMessage::kPledge, {kFirst}).ok());
  room.forget();
}

TEST(WaitingRoom, FormsAGrowthOnceAllHaveStarted) {
  Room room;
  begin_growth(room);
  for (const int guest : {kOld, kRank1, kYoung}) {
    ASSERT_TRUE(room.say(guest, MeetingMessage::kStarted).ok());
    EXPECT_EQ(room.last(guest), MeetingMessage::kMissing);
  }
  ASSERT_TRUE(room.say(kRank0, MeetingMessage::kStarted).ok());
  for (const int guest : {kRank0, kRank1, kOld, kYoung}) {
    EXPECT_EQ(room.last(guest), MeetingMessage::kFormed);
  }
  EXPECT_EQ(room.size_of(kFirst), 0);
  // A loss is the grown job's from now on.
  room.forget();
  room.leave(kOld);
  EXPECT_EQ(room.last(kRank0), MeetingMessage::kMissing);
}

TEST(WaitingRoom, DissolvesAGrowthOfWhichAMemberIsLost) {
  for (const int lost : {kRank0, kRank1, kOld, kYoung}) {
    Room room;
    begin_growth(room);
    ASSERT_TRUE(room.say(kYoung, MeetingMessage::kStarted).ok());
    room.leave(lost);
    for (const int guest : {kRank0, kRank1, kOld, kYoung}) {
      if (guest == lost) continue;
      EXPECT_EQ(room.last(guest), MeetingMessage::kDissolved);
      EXPECT_THAT(room.text(guest), HasSubstr("was lost"));
    }
    EXPECT_EQ(room.size_of(kFirst), 0);
  }
}

TEST(WaitingRoom, DissolvesAGrowthFromWhichAMemberWithdraws) {
  Room room;
  begin_growth(room);
  ASSERT_TRUE(room.say(kRank1, MeetingMessage::kWithdraw).ok());
  for (const int guest : {kRank0, kRank1, kOld, kYoung}) {
    EXPECT_EQ(room.last(guest), MeetingMessage::kDissolved);
  }
  // A withdrawal or a start that comes later has no effect.
  room.forget();
  ASSERT_TRUE(room.say(kOld, MeetingMessage::kWithdraw).ok());
  ASSERT_TRUE(room.say(kYoung, MeetingMessage::kStarted).ok());
  EXPECT_EQ(room.last(kRank0), MeetingMessage::kMissing);
}

TEST(WaitingRoom, AdmitsNewcomersOfADissolvedGrowthLater) {
  Room room;
  begin_growth(room);
  room.leave(kOld);
  ASSERT_TRUE(room.say(kYoung, MeetingMessage::kWait).ok());
  ASSERT_TRUE(room.say(kRank0, MeetingMessage::kAdmit, {2, 4}).ok());
  EXPECT_THAT(room.numbers(kRank0, 3), ElementsAre(kFirst + 1, 0u, 3u));
  EXPECT_THAT(room.numbers(kYoung, 3), ElementsAre(kFirst + 1, 2u, 3u));
}

TEST(WaitingRoom, RefusesAPledgeToAGrowthThatIsOver) {
  Room room;
  begin_growth(room);
  room.leave(kOld);
  const int late = 12;
  ASSERT_TRUE(room.say(late, MeetingMessage::kPledge, {kFirst}).ok());
  EXPECT_EQ(room.last(late), MeetingMessage::kDissolved);
}

TEST(WaitingRoom, RefusesMessagesOutOfOrder) {
  Room room;
  begin_growth(room);
  EXPECT_FALSE(room.say(kRank0, MeetingMessage::kAdmit, {2, 4}).ok());
  EXPECT_FALSE(room.say(kRank1, MeetingMessage::kPledge, {kFirst}).ok());
  EXPECT_FALSE(room.say(kOld, MeetingMessage::kWait).ok());
  EXPECT_FALSE(room.say(kOld, MeetingMessage::kFormed).ok());
  EXPECT_FALSE(room.say(kYoung, MeetingMessage::kPledge, {}).ok());
  const int other = 30;
  EXPECT_FALSE(room.say(other, MeetingMessage::kAdmit, {0, 4}).ok());
  EXPECT_FALSE(room.say(other, MeetingMessage::kAdmit, {1}).ok());
  EXPECT_EQ(room.size_of(kFirst), 4);
}

}  // namespace
}  // namespace hvd::transport
