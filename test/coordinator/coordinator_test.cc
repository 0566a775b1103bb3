// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "horovodpp/core/job/suspects.h"
#include "test/coordinator/cluster.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

// One node, two nodes, nodes of one rank, a node of another size.
std::vector<ClusterOptions> layouts() {
  return {{.size = 1},
          {.size = 2},
          {.size = 4},
          {.size = 4, .ranks_per_node = 2},
          {.size = 3, .ranks_per_node = 1},
          {.size = 5, .ranks_per_node = 2}};
}

class CoordinatorLayouts : public ::testing::TestWithParam<ClusterOptions> {};

INSTANTIATE_TEST_SUITE_P(Layouts, CoordinatorLayouts,
                         ::testing::ValuesIn(layouts()),
                         [](const auto& layout) {
                           return "Ranks" + std::to_string(layout.param.size) +
                                  "By" +
                                  std::to_string(layout.param.ranks_per_node);
                         });

TEST_P(CoordinatorLayouts, RunsASubmissionOfAllRanksOnce) {
  Cluster cluster(GetParam());
  cluster.submit_everywhere(allreduce_of("a"));
  cluster.settle();
  EXPECT_THAT(cluster.executed(), ElementsAre("a"));
}

TEST_P(CoordinatorLayouts, WaitsForTheLastRank) {
  Cluster cluster(GetParam());
  for (int rank = 0; rank + 1 < cluster.size(); ++rank) {
    cluster.submit(rank, allreduce_of("a"));
  }
  cluster.settle();
  if (cluster.size() > 1) {
    EXPECT_TRUE(cluster.executed().empty());
  }
  cluster.submit(cluster.size() - 1, allreduce_of("a"));
  cluster.settle();
  EXPECT_THAT(cluster.executed(), ElementsAre("a"));
}

TEST_P(CoordinatorLayouts, RepeatsANameByItsIdWithoutProposals) {
  Cluster cluster(GetParam());
  cluster.submit_everywhere(allreduce_of("a"));
  cluster.settle();
  const int mail = cluster.mail_sent();
  const int leaders = (cluster.size() + GetParam().ranks_per_node - 1) /
                      GetParam().ranks_per_node;
  for (int step = 0; step < 10; ++step) {
    cluster.submit_everywhere(allreduce_of("a"));
    cluster.settle();
  }
  EXPECT_EQ(cluster.executed().size(), 11u);
  // A Ready and a Round per leader and step; none on one node.
  EXPECT_EQ(cluster.mail_sent() - mail, 10 * 2 * (leaders - 1));
}

TEST_P(CoordinatorLayouts, ChangesTheShapeWhenAllRanksDo) {
  Cluster cluster(GetParam());
  for (int width : {8, 8, 9, 9, 8}) {
    cluster.submit_everywhere(allreduce_of("a", Shape({width})));
    cluster.settle();
  }
  EXPECT_EQ(cluster.executed().size(), 5u);
}

TEST_P(CoordinatorLayouts, RejectsAMismatchOnEveryRankAndGoesOn) {
  if (GetParam().size == 1) return;
  Cluster cluster(GetParam());
  const int odd = cluster.size() - 1;
  // The name already has an id.
  cluster.submit_everywhere(allreduce_of("a", Shape({8})));
  cluster.settle();
  for (int rank = 0; rank < cluster.size(); ++rank) {
    cluster.submit(rank, allreduce_of("a", Shape({rank == odd ? 9 : 8})));
  }
  cluster.settle();
  for (int rank = 0; rank < cluster.size(); ++rank) {
    ASSERT_EQ(cluster[rank].failures.count(Key{.name = "a"}), 1u);
    const absl::Status& why = cluster[rank].failures[Key{.name = "a"}];
    EXPECT_TRUE(absl::IsInvalidArgument(why));
    EXPECT_EQ(why, cluster[0].failures[Key{.name = "a"}]);
    EXPECT_THAT(std::string(why.message()),
                HasSubstr("rank 0 sent float32[8], rank " +
                          std::to_string(odd) + " sent float32[9]"));
    EXPECT_FALSE(cluster[rank].coordinator->has_in_flight());
  }
  cluster.submit_everywhere(allreduce_of("a", Shape({9})));
  cluster.settle();
  EXPECT_THAT(cluster.executed(), ElementsAre("a", "a"));
}

TEST_P(CoordinatorLayouts, RunsMoreNamesThanItRemembers) {
  ClusterOptions options = GetParam();
  options.cache_capacity = 3;
  options.fusion_threshold = 0;
  Cluster cluster(options);
  for (int step = 0; step < 6; ++step) {
    for (int name = 0; name < 7; ++name) {
      cluster.submit_everywhere(allreduce_of("t" + std::to_string(name)));
    }
    cluster.settle();
  }
  EXPECT_EQ(cluster.executed().size(), 42u);
  EXPECT_THAT(cluster[0].coordinator->take_warnings(),
              ElementsAre(HasSubstr("names more than 3 tensors")));
}

// A metric every fourth step.
TEST_P(CoordinatorLayouts, OccasionalExtraCallsCostOtherStepsNoMail) {
  if (GetParam().size == 1) return;
  ClusterOptions options = GetParam();
  options.steps_before_schedule = 3;
  Cluster cluster(options);
  const auto step = [&](bool has_extra) {
    const int before = cluster.mail_sent();
    const auto work = cluster.executed().size();
    for (const char* name : {"a", "b", "c"}) {
      cluster.submit_everywhere(allreduce_of(name));
    }
    cluster.settle();
    if (has_extra) {
      cluster.submit_everywhere(allreduce_of("metric"));
      cluster.settle();
    }
    EXPECT_EQ(cluster.executed().size(), work + (has_extra ? 4 : 3));
    return cluster.mail_sent() - before;
  };
  for (int i = 0; i < 12; ++i) step(i % 4 == 3);
  int silent = 0;
  for (int i = 0; i < 40; ++i) silent += step(i % 4 == 3) == 0;
  EXPECT_GE(silent, 20);
}

TEST_P(CoordinatorLayouts, RemembersNoIdWithACapacityOfZero) {
  ClusterOptions options = GetParam();
  options.cache_capacity = 0;
  Cluster cluster(options);
  for (int step = 0; step < 3; ++step) {
    cluster.submit_everywhere(allreduce_of("a"));
    cluster.settle();
  }
  EXPECT_THAT(cluster.executed(), ElementsAre("a", "a", "a"));
}

TEST_P(CoordinatorLayouts, AShutdownRunsCompleteAndFailsIncompleteRequests) {
  if (GetParam().size == 1) return;
  Cluster cluster(GetParam());
  cluster.submit_everywhere(allreduce_of("complete"));
  cluster.submit(0, allreduce_of("half"));
  cluster.settle();
  cluster.leave(1);
  cluster.settle();
  EXPECT_THAT(cluster.executed(), ElementsAre("complete"));
  ASSERT_EQ(cluster[0].failures.count(Key{.name = "half"}), 1u);
  EXPECT_TRUE(absl::IsCancelled(cluster[0].failures[Key{.name = "half"}]));
  EXPECT_THAT(std::string(cluster[0].failures[Key{.name = "half"}].message()),
              HasSubstr("rank 1 shut down"));

  cluster.submit(0, allreduce_of("late"));
  cluster.settle();
  EXPECT_TRUE(absl::IsCancelled(cluster[0].failures[Key{.name = "late"}]));

  for (int rank = 0; rank < cluster.size(); ++rank) {
    EXPECT_FALSE(cluster[rank].coordinator->closed());
    if (rank != 1) cluster.leave(rank);
  }
  cluster.settle();
  for (int rank = 0; rank < cluster.size(); ++rank) {
    EXPECT_TRUE(cluster[rank].coordinator->closed()) << "rank " << rank;
  }
}

TEST_P(CoordinatorLayouts, AgreesInAnyOrderOfEvents) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    ClusterOptions options = GetParam();
    options.cache_capacity = static_cast<std::uint32_t>(random() % 6);
    options.fusion_threshold = random() % 3 == 0 ? 0 : 100;
    Cluster cluster(options);
    std::multiset<std::string> expected;
    for (int step = 0; step < 4; ++step) {
      // Every rank submits the same tensors in its own order. Sometimes the
      // shape of one changes.
      std::vector<Request> tensors;
      for (int name = 0; name < 5; ++name) {
        tensors.push_back(
            allreduce_of("t" + std::to_string(name),
                         Shape({static_cast<int>(1 + random() % 2)})));
        expected.insert(tensors.back().key.name);
      }
      std::vector<std::vector<Request>> left(
          static_cast<std::size_t>(cluster.size()), tensors);
      for (auto& mine : left) std::shuffle(mine.begin(), mine.end(), random);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        for (int rank = 0; rank < cluster.size(); ++rank) {
          cluster.submit(rank, left[static_cast<std::size_t>(rank)][i]);
          cluster.stir(random, 4);
        }
      }
      cluster.settle();
    }
    const std::vector<std::string> executed = cluster.executed();
    EXPECT_THAT(executed, UnorderedElementsAreArray(std::vector<std::string>(
                              expected.begin(), expected.end())));
  }
}

TEST_P(CoordinatorLayouts, AShutdownDoesNotOvertakeEarlierSubmissions) {
  for (const bool known : {false, true}) {
    Cluster cluster(GetParam());
    if (known) {
      cluster.submit_everywhere(allreduce_of("a"));
      cluster.settle();
    }
    for (int rank = 1; rank < cluster.size(); ++rank) {
      cluster.submit(rank, allreduce_of("a"));
    }
    cluster.settle();
    cluster.submit(0, allreduce_of("a"));
    cluster.leave(0);
    cluster.settle();
    EXPECT_EQ(cluster.executed().size(), known ? 2u : 1u);
  }
}

Request request_of(RequestKind kind, const std::string& name,
                   ProcessSetId set = kGlobalSet) {
  Request request = allreduce_of(name);
  request.kind = kind;
  request.key.process_set = set;
  if (kind == RequestKind::kJoin || kind == RequestKind::kBarrier) {
    request.tensors.clear();
  }
  request.once = kind == RequestKind::kBarrier;
  return request;
}

ClusterOptions with_cycles(ClusterOptions options) {
  options.steps_before_schedule = 3;
  return options;
}

void run_steps(Cluster& cluster, int steps) {
  for (int step = 0; step < steps; ++step) {
    for (const char* name : {"a", "b", "c"}) {
      cluster.submit_everywhere(allreduce_of(name));
    }
    cluster.settle();
  }
}

TEST_P(CoordinatorLayouts, SendsNoMailOnceStepsRepeat) {
  Cluster cluster(with_cycles(GetParam()));
  run_steps(cluster, 6);
  const int mail = cluster.mail_sent();
  run_steps(cluster, 10);
  EXPECT_EQ(cluster.mail_sent(), mail);
  EXPECT_EQ(cluster.executed().size(), 48u);
}

TEST_P(CoordinatorLayouts, LeavesTheCycleForANewNameAndComesBack) {
  Cluster cluster(with_cycles(GetParam()));
  run_steps(cluster, 6);
  cluster.submit_everywhere(allreduce_of("a"));
  cluster.submit_everywhere(allreduce_of("new"));
  cluster.submit_everywhere(allreduce_of("b"));
  cluster.submit_everywhere(allreduce_of("c"));
  cluster.settle();
  EXPECT_EQ(cluster.executed().size(), 22u);
  run_steps(cluster, 20);
  const int mail = cluster.mail_sent();
  run_steps(cluster, 2);
  EXPECT_EQ(cluster.mail_sent(), mail);
}

// All ranks wait for the barrier before they go on.
TEST_P(CoordinatorLayouts, ABarrierInEveryStepIsPartOfTheCycle) {
  Cluster cluster(with_cycles(GetParam()));
  Request barrier;
  barrier.kind = RequestKind::kBarrier;
  barrier.key.name = "barrier";
  const auto step = [&] {
    cluster.submit_everywhere(allreduce_of("a"));
    cluster.submit_everywhere(allreduce_of("b"));
    cluster.submit_everywhere(barrier);
    cluster.settle();
    cluster.submit_everywhere(allreduce_of("c"));
    for (int rank = 0; rank < cluster.size(); ++rank) {
      cluster[rank].coordinator->wait_for({.name = "c"});
    }
    cluster.settle();
  };
  for (int i = 0; i < 10; ++i) step();
  const int mail = cluster.mail_sent();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(cluster.mail_sent(), mail);
  EXPECT_EQ(cluster.executed().size(), 80u);
}

void run_and_wait(Cluster& cluster, const Request& request) {
  cluster.submit_everywhere(request);
  for (int rank = 0; rank < cluster.size(); ++rank) {
    cluster[rank].coordinator->wait_for(request.key);
  }
  cluster.settle();
}

TEST_P(CoordinatorLayouts, TwoBarriersInAStepArePartOfTheCycle) {
  Cluster cluster(with_cycles(GetParam()));
  Request barrier;
  barrier.kind = RequestKind::kBarrier;
  barrier.key.name = "barrier";
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      cluster.submit_everywhere(allreduce_of("a"));
      cluster.submit_everywhere(allreduce_of("b"));
      run_and_wait(cluster, barrier);
      run_and_wait(cluster, allreduce_of("c"));
      run_and_wait(cluster, barrier);
    }
  };
  run_and_wait(cluster, allreduce_of("once"));
  steps(30);
  const int mail = cluster.mail_sent();
  steps(10);
  EXPECT_EQ(cluster.mail_sent(), mail);
  EXPECT_EQ(cluster.executed().size(), 201u);
}

TEST_P(CoordinatorLayouts, ANameThreeTimesInAStepIsPartOfTheCycle) {
  Cluster cluster(with_cycles(GetParam()));
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      for (const char* name : {"loss", "loss", "a", "loss", "b"}) {
        run_and_wait(cluster, allreduce_of(name));
      }
    }
  };
  steps(60);
  const int mail = cluster.mail_sent();
  steps(10);
  EXPECT_EQ(cluster.mail_sent(), mail);
  EXPECT_EQ(cluster.executed().size(), 350u);
}

TEST_P(CoordinatorLayouts, SendsNoMailIfAProgramWaitsForEachOperation) {
  Cluster cluster(with_cycles(GetParam()));
  const auto step = [&] {
    for (const char* name : {"loss", "accuracy", "seconds"}) {
      cluster.submit_everywhere(allreduce_of(name));
      for (int rank = 0; rank < cluster.size(); ++rank) {
        cluster[rank].coordinator->wait_for({.name = name});
      }
      cluster.settle();
    }
  };
  for (int i = 0; i < 12; ++i) step();
  const int mail = cluster.mail_sent();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(cluster.mail_sent(), mail);
  EXPECT_EQ(cluster.executed().size(), 66u);
}

// As when training alternates with validation: each repeats its own step.
TEST_P(CoordinatorLayouts, SendsNoMailInTheProgramsNextPhase) {
  Cluster cluster(with_cycles(GetParam()));
  const auto mail_of_others = [&](int steps) {
    const int before = cluster.mail_sent();
    for (int i = 0; i < steps; ++i) {
      cluster.submit_everywhere(allreduce_of("accuracy"));
      cluster.settle();
    }
    return cluster.mail_sent() - before;
  };
  run_steps(cluster, 20);
  for (int epoch = 0; epoch < 3; ++epoch) {
    mail_of_others(6);
    EXPECT_EQ(mail_of_others(20), 0) << epoch;
    run_steps(cluster, 6);
    const int mail = cluster.mail_sent();
    run_steps(cluster, 20);
    EXPECT_EQ(cluster.mail_sent(), mail) << epoch;
  }
}

TEST_P(CoordinatorLayouts, LeavesTheCycleForAWaitBehindItsHead) {
  ClusterOptions options = with_cycles(GetParam());
  options.fusion_threshold = 0;
  Cluster cluster(options);
  run_steps(cluster, 6);
  // All ranks want "c" before they submit "a".
  cluster.submit_everywhere(allreduce_of("c"));
  cluster.settle();
  EXPECT_EQ(cluster.executed().size(), 18u);
  cluster[cluster.size() - 1].coordinator->wait_for({.name = "c"});
  cluster.settle();
  EXPECT_EQ(cluster.executed().size(), 19u);
  EXPECT_EQ(cluster.executed().back(), "c");
}

TEST_P(CoordinatorLayouts, AJoinedRankTakesPartInTheOthersSubmissions) {
  if (GetParam().size == 1) return;
  for (const bool known : {false, true}) {
    Cluster cluster(with_cycles(GetParam()));
    if (known) run_steps(cluster, 6);
    const int last = cluster.size() - 1;
    cluster.submit(last, request_of(RequestKind::kJoin, "join"));
    cluster.settle();
    for (int rank = 0; rank < last; ++rank) {
      cluster.submit(rank, allreduce_of("a"));
      cluster.submit(rank, allreduce_of("new"));
    }
    cluster.settle();
    for (int rank = 0; rank < cluster.size(); ++rank) {
      std::size_t seen = 0;
      for (const Batch& batch : cluster[rank].executed) {
        for (const Batch::Entry& entry : batch.entries) {
          const bool joined = rank == last && batch.participants == last;
          EXPECT_EQ(entry.submitted_here, !joined);
          seen += batch.participants == last ? 1 : 0;
        }
      }
      EXPECT_EQ(seen, 2u);
    }
    for (int rank = 0; rank < last; ++rank) {
      cluster.submit(rank, request_of(RequestKind::kJoin, "join"));
      cluster.settle();
    }
    for (int rank = 0; rank < cluster.size(); ++rank) {
      const Batch& end = cluster[rank].executed.back();
      EXPECT_EQ(end.request().kind, RequestKind::kJoin);
      EXPECT_EQ(end.result, last - 1);
      EXPECT_FALSE(cluster[rank].coordinator->has_in_flight());
    }
    run_steps(cluster, 6);
    EXPECT_EQ(cluster.executed().size(), (known ? 18u : 0u) + 3u + 18u);
  }
}

TEST_P(CoordinatorLayouts, CallsThatNeedAJoinedRankFail) {
  if (GetParam().size == 1) return;
  Cluster cluster(GetParam());
  cluster.submit(0, request_of(RequestKind::kJoin, "join"));
  for (int rank = 1; rank < cluster.size(); ++rank) {
    cluster.submit(rank, request_of(RequestKind::kAlltoall, "exchange"));
    cluster.submit(rank, request_of(RequestKind::kBroadcast, "weights"));
  }
  cluster.settle();
  for (int rank = 1; rank < cluster.size(); ++rank) {
    for (const char* name : {"exchange", "weights"}) {
      ASSERT_EQ(cluster[rank].failures.count(Key{.name = name}), 1u);
      EXPECT_THAT(
          std::string(cluster[rank].failures[Key{.name = name}].message()),
          HasSubstr("joined"));
    }
  }
}

TEST_P(CoordinatorLayouts, ProcessSetsComeAndGoWhileOthersWork) {
  if (GetParam().size < 3) return;
  Cluster cluster(with_cycles(GetParam()));
  Request add = request_of(RequestKind::kAddProcessSet, "add.0");
  add.tensors.clear();
  add.ranks = {0, cluster.size() - 1};
  cluster.submit_everywhere(add);
  cluster.settle();
  for (int rank = 0; rank < cluster.size(); ++rank) {
    EXPECT_EQ(cluster[rank].executed.back().result, 1);
    EXPECT_EQ(cluster[rank].coordinator->process_sets().size(1), 2);
  }
  Request mine = request_of(RequestKind::kAllreduce, "a", 1);
  for (int step = 0; step < 5; ++step) {
    cluster.submit(1, allreduce_of("a"));  // Waits, and blocks no rank.
    for (const int rank : add.ranks) cluster.submit(rank, mine);
    cluster.settle();
    for (const int rank : add.ranks) {
      EXPECT_EQ(cluster[rank].executed.back().request().key.process_set, 1u);
    }
    for (int rank = 0; rank < cluster.size(); ++rank) {
      if (rank != 1) cluster.submit(rank, allreduce_of("a"));
    }
    cluster.settle();
  }
  EXPECT_EQ(cluster[0].executed.size(), 11u);
  EXPECT_EQ(cluster[1].executed.size(), 6u);

  cluster.submit(0, mine);
  Request remove = request_of(RequestKind::kRemoveProcessSet, "remove.0");
  remove.tensors.clear();
  remove.subject = 1;
  cluster.submit_everywhere(remove);
  cluster.settle();
  ASSERT_EQ(cluster[0].failures.count(mine.key), 1u);
  EXPECT_TRUE(absl::IsCancelled(cluster[0].failures[mine.key]));
  add.key.name = "add.1";
  add.ranks = {1, 2};
  cluster.submit_everywhere(add);
  cluster.settle();
  EXPECT_EQ(cluster[0].executed.back().result, 1);  // The id is free again.
}

// Other ranks neither propose nor hinder, but know the set.
TEST_P(CoordinatorLayouts, MembersCreateAndFreeASetAlone) {
  if (GetParam().size < 3) return;
  Cluster cluster(with_cycles(GetParam()));
  Request made = request_of(RequestKind::kNewProcessSet, "x of 0 and last");
  made.tensors.clear();
  made.once = true;
  made.ranks = {0, cluster.size() - 1};
  for (const std::uint32_t number : {1u, 2u}) {
    made.key.name += "'";
    cluster.submit(made.ranks.back(), made);
    cluster.settle();
    EXPECT_EQ(cluster[0].coordinator->process_sets().count(), number);
    cluster.submit(0, made);
    cluster.settle();
    for (int rank = 0; rank < cluster.size(); ++rank) {
      EXPECT_EQ(cluster[rank].executed.back().result, number);
      EXPECT_EQ(*cluster[rank].coordinator->process_sets().ranks(number),
                made.ranks);
    }
  }
  const Request mine = request_of(RequestKind::kAllreduce, "a", 2);
  for (const int rank : made.ranks) cluster.submit(rank, mine);
  cluster.settle();
  EXPECT_EQ(cluster[0].executed.back().request().key, mine.key);
  EXPECT_NE(cluster[1].executed.back().request().key, mine.key);

  Request freed = made;
  freed.kind = RequestKind::kFreeProcessSet;
  freed.subject = 1;
  for (const int rank : made.ranks) cluster.submit(rank, freed);
  cluster.settle();
  for (int rank = 0; rank < cluster.size(); ++rank) {
    EXPECT_EQ(cluster[rank].coordinator->process_sets().ranks(1), nullptr);
  }
  // The number is free again.
  made.key.name = "y";
  for (const int rank : made.ranks) cluster.submit(rank, made);
  cluster.settle();
  EXPECT_EQ(cluster[1].executed.back().result, 1);
}

TEST_P(CoordinatorLayouts, TellsARankThatAsksWhichRanksAreMissing) {
  if (GetParam().size < 3) return;
  Cluster cluster(GetParam());
  Request made = request_of(RequestKind::kNewProcessSet, "x");
  made.tensors.clear();
  made.once = true;
  made.ranks = {1, cluster.size() - 1};
  cluster.submit(1, made);
  cluster.settle();
  cluster[1].coordinator->ask(made.key, 7);
  cluster.settle();
  const auto answers = cluster[1].coordinator->take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].question, 7u);
  EXPECT_THAT(answers[0].text,
              HasSubstr("ranks [1] have submitted it, but not rank " +
                        std::to_string(cluster.size() - 1)));
  EXPECT_THAT(answers[0].text, Not(HasSubstr("rank 0")));
  EXPECT_FALSE(cluster[0].coordinator->has_answers());
  EXPECT_TRUE(cluster[0].coordinator->take_warnings().empty());
}

TEST_P(CoordinatorLayouts, ReportsMissingRanksAndThenGivesUp) {
  if (GetParam().size == 1) return;
  ClusterOptions options = GetParam();
  options.stall_warning = std::chrono::seconds(60);
  options.stall_shutdown = std::chrono::seconds(600);
  Cluster cluster(options);
  cluster.submit_everywhere(allreduce_of("before"));
  cluster.settle();
  const int last = cluster.size() - 1;
  for (int rank = 0; rank < last; ++rank) {
    cluster.submit(rank, allreduce_of("late"));
  }
  cluster.settle();
  ASSERT_TRUE(cluster[0].coordinator->due().has_value());
  cluster.clock.advance(std::chrono::seconds(60));
  cluster.settle();
  const auto warnings = cluster[0].coordinator->take_warnings();
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], HasSubstr("'late' has waited for 60 s"));
  EXPECT_THAT(warnings[0], HasSubstr("rank " + std::to_string(last) +
                                     ", whose last submission was 'before' 60 "
                                     "s ago"));
}

TEST(Coordinator, ALeaderWakesItsNodeForANewSchedule) {
  Cluster cluster({.size = 2});
  cluster.submit_everywhere(allreduce_of("a"));
  cluster.move(1);
  while (cluster.deliver(1, 0)) continue;
  Coordinator& leader = *cluster[0].coordinator;
  ASSERT_EQ(leader.step(), absl::OkStatus());
  EXPECT_TRUE(leader.take_bells().node);
  EXPECT_FALSE(leader.take_bells().node);
}

TEST(Coordinator, AReaderWakesTheLeaderThatWaitsForRoomInTheSchedule) {
  Cluster cluster({.size = 2});
  const int many = 6 * static_cast<int>(kMaxAppend);
  for (int i = 0; i < many; ++i) {
    Request barrier = allreduce_of(std::to_string(i));
    barrier.kind = RequestKind::kBarrier;
    barrier.once = true;
    cluster.submit_everywhere(barrier);
  }
  cluster.move(1);
  while (cluster.deliver(1, 0)) continue;
  while (cluster.move(0)) continue;
  ASSERT_LT(cluster[0].batches.size(), static_cast<std::size_t>(many));

  while (cluster.deliver(0, 1)) continue;
  Coordinator& reader = *cluster[1].coordinator;
  while (true) {
    const auto batch = reader.next_batch();
    ASSERT_EQ(batch.status(), absl::OkStatus());
    if (*batch == nullptr) break;
    reader.finished();
  }
  EXPECT_TRUE(reader.wants_step());
  ASSERT_EQ(reader.step(), absl::OkStatus());
  EXPECT_TRUE(reader.take_bells().leader);
  cluster.settle();
  EXPECT_EQ(cluster[0].batches.size(), static_cast<std::size_t>(many));
}

TEST(Coordinator, FusesTensorsReadyTogether) {
  Cluster cluster({.size = 2});
  for (const char* name : {"a", "b", "c"})
    cluster.submit_everywhere(allreduce_of(name));
  cluster.settle();
  cluster[0].batches.clear();
  cluster[1].batches.clear();
  for (const char* name : {"a", "b", "c"})
    cluster.submit_everywhere(allreduce_of(name));
  cluster.settle();
  ASSERT_EQ(cluster[0].batches.size(), 1u);
  EXPECT_THAT(cluster[0].batches[0], ElementsAre("a", "b", "c"));
}

TEST(Coordinator, HoldsASmallBatchBackForAtMostTheTimeAllowed) {
  Cluster cluster({.size = 2, .hold_back = std::chrono::milliseconds(5)});
  cluster.submit_everywhere(allreduce_of("a"));
  cluster.settle();
  EXPECT_TRUE(cluster.executed().empty());
  ASSERT_TRUE(cluster[0].coordinator->due().has_value());
  EXPECT_EQ(*cluster[0].coordinator->due(),
            cluster.clock.now() + std::chrono::milliseconds(5));
  cluster.submit_everywhere(allreduce_of("b"));
  cluster.settle();
  EXPECT_TRUE(cluster.executed().empty());
  cluster.clock.advance(std::chrono::milliseconds(5));
  cluster.settle();
  ASSERT_EQ(cluster[0].batches.size(), 1u);
  EXPECT_THAT(cluster[0].batches[0], ElementsAre("a", "b"));
  EXPECT_FALSE(cluster[0].coordinator->due().has_value());
}

TEST(Coordinator, AnAllgatherMayChangeItsFirstDimensionUnderItsId) {
  Cluster cluster({.size = 2});
  Request rows = allreduce_of("rows", Shape({3, 4}));
  rows.kind = RequestKind::kAllgather;
  cluster.submit_everywhere(rows);
  cluster.settle();
  const int mail = cluster.mail_sent();
  for (int step = 1; step < 4; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      rows.tensors[0].shape = Shape({step + rank, 4});
      cluster.submit(rank, rows);
    }
    cluster.settle();
  }
  EXPECT_EQ(cluster.executed().size(), 4u);
  EXPECT_EQ(cluster.mail_sent(), mail);
}

TEST(Coordinator, DropsMailOfAnotherEpoch) {
  Cluster cluster({.size = 2});
  EXPECT_EQ(cluster[0].coordinator->receive(1, encode(6, Break{"old news"})),
            absl::OkStatus());
}

TEST(Coordinator, PutsAllMessagesToARankIntoOneLetter) {
  Cluster cluster({.size = 3});
  for (const char* name : {"a", "b", "c"}) {
    for (int rank : {0, 1, 2}) cluster.submit(rank, allreduce_of(name));
  }
  for (int rank : {1, 2, 0}) cluster.move(rank);
  EXPECT_EQ(cluster.mail_sent(), 2);  // Three proposals from each of two ranks.
  cluster.settle();
  EXPECT_EQ(cluster.mail_sent(), 4);  // Three definitions for each.
  EXPECT_THAT(cluster.executed(), ElementsAre("a", "b", "c"));
}

TEST(Coordinator, SplitsALongRoundIntoSeveralLetters) {
  Cluster cluster({.size = 3});
  const std::string prefix(1000, 'x');
  std::vector<std::string> names;
  for (int i = 10; i < 60; ++i) {
    names.push_back(prefix + std::to_string(i));
    cluster.submit_everywhere(allreduce_of(names.back()));
  }
  cluster.move(1);
  EXPECT_GE(cluster.mail_sent(), 3);
  EXPECT_LE(cluster.mail_sent(), 5);
  cluster.settle();
  EXPECT_EQ(cluster.executed(), names);
}

TEST(Coordinator, ReadsALetterAsFarAsItMakesSense) {
  Cluster cluster({.size = 2});
  Coordinator& root = *cluster[0].coordinator;
  const auto request = std::make_shared<const Request>(allreduce_of("a"));
  const Message proposal = Propose{.rank = 1, .request = request};
  EXPECT_EQ(root.receive(1, encode(6, Beat{}) + encode(7, proposal)),
            absl::OkStatus());
  EXPECT_THAT(
      std::string(
          root.receive(1, encode(7, Beat{}) + encode(7, proposal)).message()),
      HasSubstr("said twice"));
  EXPECT_TRUE(absl::IsAborted(
      root.receive(1, encode(7, Beat{}) + encode(7, Break{"gone"}))));
  EXPECT_TRUE(absl::IsInvalidArgument(
      root.receive(1, encode(7, Beat{}) + "nothing of ours")));
  EXPECT_TRUE(absl::IsInvalidArgument(root.receive(1, "")));
}

TEST(Coordinator, ReportsABreakInItsOwnWords) {
  Cluster cluster({.size = 2});
  const absl::Status broken =
      cluster[0].coordinator->receive(1, encode(7, Break{"rank 1 is gone"}));
  EXPECT_TRUE(absl::IsAborted(broken));
  EXPECT_EQ(broken.message(), "rank 1 is gone");
}

TEST(Coordinator, PassesOnTheSuspectsOfABreak) {
  Cluster cluster({.size = 2});
  const absl::Status why = with_failure_kind(
      with_suspects(absl::AbortedError("rank 1 does not answer"), {1}),
      FailureKind::kSilentNode);
  for (const Outgoing& mail : cluster[1].coordinator->break_mail(why)) {
    const absl::Status broken = cluster[0].coordinator->receive(1, mail.bytes);
    EXPECT_EQ(broken.message(), why.message());
    EXPECT_THAT(suspects_of(broken), ElementsAre(1));
    EXPECT_EQ(failure_kind_of(broken), FailureKind::kSilentNode);
  }
}

TEST(Coordinator, BringsReportsToRank0InTheirOrder) {
  Cluster cluster({.size = 6, .ranks_per_node = 2});
  for (int rank = 0; rank < 6; ++rank) {
    for (const char* what : {"one", "another"}) {
      EXPECT_EQ(cluster[rank].coordinator->report(what), absl::OkStatus());
    }
  }
  cluster.settle();
  std::map<int, std::vector<std::string>> reports;
  for (const Report& report : cluster[0].coordinator->take_reports()) {
    reports[report.rank].push_back(report.bytes);
  }
  ASSERT_EQ(reports.size(), 6u);
  for (const auto& [rank, texts] : reports) {
    EXPECT_THAT(texts, ElementsAre("one", "another")) << rank;
  }
  EXPECT_TRUE(cluster[0].coordinator->take_reports().empty());
  EXPECT_TRUE(cluster[1].coordinator->take_reports().empty());
}

TEST(Coordinator, RefusesMessagesThatAPeerMayNotSend) {
  const auto refused = [](int to, int from, Message message) {
    Cluster cluster({.size = 3});
    const absl::Status status =
        cluster[to].coordinator->receive(from, encode(7, message));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("mail from rank " + std::to_string(from)));
    return !status.ok();
  };
  const auto a = std::make_shared<const Request>(allreduce_of("a"));
  EXPECT_TRUE(refused(1, 2, Propose{.rank = 2, .request = a}));
  EXPECT_TRUE(refused(2, 1, Define{.request = a}));
  EXPECT_TRUE(refused(0, 1, Report{.rank = 3}));
  EXPECT_TRUE(refused(1, 0, Round{}));
  Cluster cluster({.size = 2});
  EXPECT_FALSE(cluster[0].coordinator->receive(1, "garbage").ok());
}

}  // namespace
}  // namespace hvd::coordinator
