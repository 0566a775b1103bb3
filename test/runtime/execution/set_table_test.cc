// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/set_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace hvd::runtime {
namespace {

using coordinator::Request;
using coordinator::RequestKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ProcessSet set_of(std::uint32_t id, std::vector<int> ranks) {
  return {id, std::make_shared<const std::vector<int>>(std::move(ranks))};
}

Request request(RequestKind kind, std::uint32_t set = 0,
                const std::string& name = "") {
  Request r;
  r.kind = kind;
  r.key = {.process_set = set, .name = name};
  return r;
}

// Rank 3 of a job of four.
class SetTableTest : public ::testing::Test {
 protected:
  absl::Status admit(Request& r) {
    ProcessSet set = set_of(r.key.process_set, {1, 3});
    for (const ProcessSet& known : table_.all()) {
      if (known.id() == r.key.process_set) set = known;
    }
    return table_.admit(set, r);
  }
  std::string name_given_to(Request r) {
    EXPECT_EQ(admit(r), absl::OkStatus());
    EXPECT_TRUE(r.once);
    return r.key.name;
  }
  SetTable table_{3, 4};
};

TEST_F(SetTableTest, KnowsTheGlobalSetFromTheStart) {
  ASSERT_EQ(table_.all().size(), 1u);
  EXPECT_TRUE(table_.all()[0].is_global());
  EXPECT_THAT(table_.find(ProcessSet::global())->ranks(),
              ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(table_.place_in(ProcessSet::global())->position, 3);
}

TEST_F(SetTableTest, KnowsThePositionOfThisRankInASet) {
  table_.add(1, {1, 3});
  table_.add(2, {0, 1});
  EXPECT_EQ(table_.place_in(set_of(1, {1, 3}))->position, 1);
  EXPECT_EQ(table_.place_in(set_of(1, {1, 3}))->size(), 2);
  EXPECT_EQ(table_.place_in(set_of(2, {0, 1})).status().message(),
            "rank 3 is not a member of process set 2 [0, 1]");
  EXPECT_THAT(table_.find(set_of(2, {0, 1}))->ranks(), ElementsAre(0, 1));
}

TEST_F(SetTableTest, RefusesARemovedSetEvenIfItsNumberIsReused) {
  const ProcessSet old = set_of(1, {1, 3});
  table_.add(1, {1, 3});
  table_.remove(1);
  for (int round = 0; round < 2; ++round) {
    const absl::Status status = table_.find(old).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("process set 1 [1, 3] does not exist"));
    table_.add(1, {2, 3});
  }
  EXPECT_TRUE(table_.find(set_of(1, {2, 3})).ok());
}

TEST_F(SetTableTest, NumbersNamelessCallsPerOperationAndProcessSet) {
  table_.add(1, {1, 3});
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce)),
            "allreduce.noname.0");
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce)),
            "allreduce.noname.1");
  EXPECT_EQ(name_given_to(request(RequestKind::kAllgather)),
            "allgather.noname.0");
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce, 1)),
            "allreduce.noname.0");
  // A set that reuses the id counts from 0 again, on all ranks.
  table_.remove(1);
  table_.add(1, {0, 3});
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce, 1)),
            "allreduce.noname.0");
}

TEST_F(SetTableTest, LeavesNamesThatWereGiven) {
  Request named = request(RequestKind::kAllreduce, 0, "x");
  EXPECT_EQ(admit(named), absl::OkStatus());
  EXPECT_EQ(named.key.name, "x");
  EXPECT_FALSE(named.once);
}

TEST_F(SetTableTest, RefusesSubmissionsOfAJoinedRankUntilTheJoinEnds) {
  table_.add(1, {1, 3});
  Request join = request(RequestKind::kJoin, 1);
  ASSERT_EQ(admit(join), absl::OkStatus());
  for (const RequestKind kind :
       {RequestKind::kAllreduce, RequestKind::kJoin, RequestKind::kBarrier}) {
    Request late = request(kind, 1);
    const absl::Status status = admit(late);
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 3 has joined process set 1 [1, 3]"));
  }
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce)),
            "allreduce.noname.0");
  table_.join_ended(1, false);
  // Refused calls are not counted: the other ranks did not see them.
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce, 1)),
            "allreduce.noname.0");
  EXPECT_EQ(name_given_to(request(RequestKind::kJoin, 1)), "join.noname.1");
}

// Joined ranks made fewer calls than others.
TEST_F(SetTableTest, NumbersRestartAfterAJoin) {
  table_.add(1, {1, 3});
  for (int i = 0; i < 3; ++i) name_given_to(request(RequestKind::kAllreduce));
  EXPECT_EQ(name_given_to(request(RequestKind::kJoin)), "join.noname.0");
  table_.join_ended(0, true);
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce)),
            "allreduce.noname.1.0");
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce)),
            "allreduce.noname.1.1");
  EXPECT_EQ(name_given_to(request(RequestKind::kAllreduce, 1)),
            "allreduce.noname.0");
  EXPECT_EQ(name_given_to(request(RequestKind::kJoin)), "join.noname.1.0");
}

TEST_F(SetTableTest, AJoinMayEndAfterItsSet) {
  table_.add(1, {1, 3});
  Request join = request(RequestKind::kJoin, 1);
  ASSERT_EQ(admit(join), absl::OkStatus());
  table_.remove(1);
  table_.join_ended(1, true);
  Request late = request(RequestKind::kAllreduce, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(admit(late)));
}

TEST(ProcessSet, IsAValue) {
  const ProcessSet a = set_of(2, {0, 1});
  EXPECT_EQ(a.to_string(), "process set 2 [0, 1]");
  EXPECT_EQ(a, set_of(2, {0, 1}));
  EXPECT_FALSE(a == set_of(2, {0, 2}));
  EXPECT_FALSE(a == set_of(1, {0, 1}));
  EXPECT_EQ(ProcessSet(), ProcessSet::global());
  EXPECT_EQ(ProcessSet::global(), set_of(0, {0, 1, 2}));
  EXPECT_TRUE(ProcessSet::global().ranks().empty());
  EXPECT_EQ(ProcessSet::global().to_string(), "the global process set");
}

}  // namespace
}  // namespace hvd::runtime
