// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PlacesTest : public testing::Test {
 protected:
  void member(const std::string& host) {
    job_.ranks.push_back({.asked_host = host, .was_connected = true});
  }
  void newcomer(const std::string& host) {
    job_.ranks.push_back({.asked_host = host, .is_newcomer = true});
  }

  JobRecord job_;
};

TEST_F(PlacesTest, AreTakenByRanksThatStay) {
  for (const char* host : {"a", "a", "b", "b", "b"}) member(host);
  job_.ranks[0].is_lost = true;
  job_.ranks[2].ended = Report{.kind = Report::Kind::kKilled, .value = 9};
  job_.ranks[3].is_leaving = true;
  const Places places = places_of(job_, {{"a", 4}, {"b", 4}, {"c", 2}});
  EXPECT_EQ(places.taken, 2);
  EXPECT_THAT(places.free, ElementsAre(3, 3, 2));
  EXPECT_THAT(places.displaced, IsEmpty());
}

TEST_F(PlacesTest, DisplaceRanksOfAHostThatIsGone) {
  for (const char* host : {"a", "b", "b"}) member(host);
  const Places places = places_of(job_, {{"a", 4}});
  EXPECT_EQ(places.taken, 1);
  EXPECT_THAT(places.displaced, ElementsAre(1, 2));
}

TEST_F(PlacesTest, DisplaceNewcomersThatWaitBeforeMembersAndTheYoungestFirst) {
  newcomer("a");
  for (int i = 0; i < 3; ++i) member("a");
  EXPECT_THAT(places_of(job_, {{"a", 3}}).displaced, ElementsAre(0));
  EXPECT_THAT(places_of(job_, {{"a", 2}}).displaced, ElementsAre(3, 0));
}

}  // namespace
}  // namespace hvd::launcher
