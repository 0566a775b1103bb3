// SPDX-License-Identifier: Apache-2.0
// Every order of events of three ranks that submit three tensors, wait, join
// and die. small_job.h defines the events.
//
// Explored in full:
// - one tensor in mode 1 for every placement of ranks, with a wait and with a
//   death
// - two tensors in mode 1 on one node
// - three tensors in mode 0 on one and on three nodes
//
// All orders of three tensors, with waits, joins and deaths at every place, in
// both modes and for every placement. They are explored up to one deviation
// from a fixed order of events, some up to two.
//
// A Coordinator is deterministic and cannot be copied. A state is therefore the
// history of each rank (its inputs and what its board told it) together with
// the boards. A state that was reached before is not explored again. To go back
// to a state, the test repeats all its events.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/simulation/small_job.h"

namespace hvd::simulation {
namespace {

constexpr int kAllOfThem = 1'000'000;

struct Explored {
  std::size_t states = 0;
  std::size_t ends = 0;
  std::string fault = {};
  std::vector<Choice> path = {};  // To the fault.
  bool in_cycle = false;
};

// Depth first: going back repeats all events, so each path is followed to its
// end first. A step deviates if it does not take the first choice. Paths of
// more than `deviations` deviations are not explored.
Explored explore(const Scenario& scenario, int deviations) {
  struct Level {
    std::vector<Choice> open;
    SmallJob::Histories histories;
    int left = 0;  // Deviations.
    std::size_t next = 0;
  };
  Explored found;
  std::unordered_map<std::uint64_t, int> seen;  // Deviations left there.
  auto job = std::make_unique<SmallJob>(scenario);
  job->remembers = true;
  std::vector<Level> levels = {{job->choices(), job->histories(), deviations}};
  std::size_t depth = 0;  // Of `job`.
  while (!levels.empty()) {
    Level& top = levels.back();
    if (top.next == top.open.size() || (top.next > 0 && top.left == 0)) {
      levels.pop_back();
      if (!found.path.empty()) found.path.pop_back();
      continue;
    }
    const int left = top.next == 0 ? top.left : top.left - 1;
    const Choice choice = top.open[top.next++];
    if (depth != found.path.size()) {
      job = std::make_unique<SmallJob>(scenario);
      for (const Choice& done : found.path) job->take(done);
      job->set_histories(top.histories);
      job->remembers = true;
    }
    job->take(choice);
    found.in_cycle = found.in_cycle || job->was_in_cycle();
    depth = found.path.size() + 1;
    found.path.push_back(choice);
    found.fault = job->verdict();
    if (!found.fault.empty()) return found;
    const auto [known, is_new] = seen.try_emplace(job->state(), left);
    if (!is_new && known->second >= left) {
      found.path.pop_back();
      continue;
    }
    known->second = left;
    if (is_new) ++found.states;
    levels.push_back({job->choices(), job->histories(), left});
    if (is_new && levels.back().open.empty()) ++found.ends;
  }
  return found;
}

const std::vector<std::vector<std::vector<int>>> kPlacements = {
    {{0, 1, 2}}, {{0, 1}, {2}}, {{0}, {1}, {2}}};
const std::vector<std::array<int, 3>> kOrders = {
    {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

Act submit(int tensor) { return {Act::Kind::kSubmit, tensor}; }
Act wait(int tensor) { return {Act::Kind::kWait, tensor}; }

// Submits the first `count` tensors of `order`.
RankScript submits(const std::array<int, 3>& order, int count = kTensors) {
  RankScript script;
  for (int i = 0; i < count; ++i) {
    script.push_back(submit(order[static_cast<std::size_t>(i)]));
  }
  return script;
}

// Waits for each tensor before it submits the next.
RankScript synchronous(const std::array<int, 3>& order) {
  RankScript script;
  for (const int tensor : order) {
    script.push_back(submit(tensor));
    script.push_back(wait(tensor));
  }
  return script;
}

RankScript then(RankScript script, Act::Kind kind) {
  script.push_back({kind});
  return script;
}

std::string describe(const Scenario& scenario, const Explored& found) {
  std::string text = absl::StrCat(scenario.nodes.size(), " nodes, mode ",
                                  scenario.steps_before_schedule > 0 ? 0 : 1);
  for (const RankScript& script : scenario.scripts) {
    absl::StrAppend(&text, ", [");
    for (const Act& act : script) {
      static constexpr const char* kNames[] = {"submit ", "wait ", "join ",
                                               "die "};
      absl::StrAppend(&text, kNames[static_cast<int>(act.kind)], act.tensor,
                      ";");
    }
    absl::StrAppend(&text, "]");
  }
  absl::StrAppend(&text, " after events (rank.kind.from)");
  for (const Choice& choice : found.path) {
    absl::StrAppend(&text, " ", choice.rank, ".", static_cast<int>(choice.kind),
                    ".", choice.from);
  }
  return text;
}

// Returns the number of states.
std::size_t expect_no_fault(const Scenario& scenario, int deviations) {
  const Explored found = explore(scenario, deviations);
  EXPECT_EQ(found.fault, "") << describe(scenario, found);
  EXPECT_GT(found.ends, 0u);
  EXPECT_EQ(found.in_cycle, scenario.steps_before_schedule > 0);
  return found.states;
}

void for_all_placements(int deviations,
                        const std::vector<RankScript>& scripts) {
  for (const auto& nodes : kPlacements) {
    for (const int schedule : {0, 1}) {
      expect_no_fault({.nodes = nodes,
                       .steps_before_schedule = schedule,
                       .warm_up = 3,
                       .scripts = scripts},
                      deviations);
    }
  }
}

TEST(AllInterleavings, OfOneTensorExecuteIt) {
  for (const auto& nodes : kPlacements) {
    for (const int warm_up : {0, 1}) {
      expect_no_fault(
          {.nodes = nodes,
           .warm_up = warm_up,
           .scripts = {{submit(0)}, {submit(0), wait(0)}, {submit(0)}}},
          kAllOfThem);
    }
  }
}

TEST(AllInterleavings, OfOneTensorAndADeathEnd) {
  for (const auto& nodes : kPlacements) {
    for (int dying = 0; dying < kRanks; ++dying) {
      Scenario scenario = {.nodes = nodes,
                           .scripts = {{submit(0)}, {submit(0)}, {submit(0)}}};
      auto& script = scenario.scripts[static_cast<std::size_t>(dying)];
      script = then(script, Act::Kind::kDie);
      expect_no_fault(scenario, kAllOfThem);
    }
  }
}

TEST(AllInterleavings, OfTwoTensorsExecuteThem) {
  expect_no_fault({.nodes = {{0, 1, 2}},
                   .scripts = {{submit(0), submit(1)},
                               {submit(1), submit(0)},
                               {submit(0), submit(1)}}},
                  kAllOfThem);
}

TEST(AllInterleavings, OfThreeTensorsInAPublishedOrderExecuteThem) {
  for (const auto& nodes : {kPlacements[0], kPlacements[2]}) {
    expect_no_fault({.nodes = nodes,
                     .steps_before_schedule = 1,
                     .warm_up = 3,
                     .scripts = {submits(kOrders[0]), submits(kOrders[3]),
                                 submits(kOrders[5])}},
                    kAllOfThem);
  }
}

TEST(InterleavingsWithOneDeviation, OfAllOrdersExecuteAll) {
  for (const auto& order : kOrders) {
    for (const auto& other : kOrders) {
      for_all_placements(1,
                         {submits(kOrders[0]), submits(order), submits(other)});
    }
  }
}

TEST(InterleavingsWithOneDeviation, OfARankThatWaitsForEachExecuteAll) {
  for (const auto& order : kOrders) {
    for_all_placements(
        1, {submits(kOrders[0]), synchronous(order), submits(kOrders[5])});
    for_all_placements(
        1, {synchronous(order), submits(kOrders[3]), submits(kOrders[5])});
  }
}

TEST(InterleavingsWithOneDeviation, OfRanksThatJoinInTurnExecuteAll) {
  for (int first = 0; first < kTensors; ++first) {
    for (const auto& order : kOrders) {
      for_all_placements(1, {then(submits(order), Act::Kind::kJoin),
                             then(submits(order, first), Act::Kind::kJoin),
                             then(submits(kOrders[0]), Act::Kind::kJoin)});
    }
  }
}

TEST(InterleavingsWithOneDeviation, OfARankThatDiesEnd) {
  for (int dying = 0; dying < kRanks; ++dying) {
    for (int after = 0; after <= kTensors; ++after) {
      std::vector<RankScript> scripts(kRanks, submits(kOrders[0]));
      scripts[static_cast<std::size_t>(dying)] =
          then(submits(kOrders[3], after), Act::Kind::kDie);
      for_all_placements(1, scripts);
    }
  }
}

TEST(InterleavingsWithTwoDeviations, OfWaitsAndJoinsExecuteAll) {
  const std::vector<RankScript> scripts = {
      then(submits(kOrders[0]), Act::Kind::kJoin),
      then(synchronous(kOrders[5]), Act::Kind::kJoin),
      then(submits(kOrders[3], 1), Act::Kind::kJoin)};
  for (const int schedule : {0, 1}) {
    expect_no_fault({.nodes = {{0, 1}, {2}},
                     .steps_before_schedule = schedule,
                     .warm_up = 3,
                     .scripts = scripts},
                    2);
  }
}

}  // namespace
}  // namespace hvd::simulation
