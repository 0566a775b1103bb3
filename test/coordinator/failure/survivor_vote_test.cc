// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/failure/survivor_vote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "test/coordinator/failure/vote_world.h"
#include "test/support/hammer.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Event = VoteWorld::Event;
using Phase = SurvivorVote::Phase;

// Explores every order of events in a world.
class Explorer {
 public:
  // Ranks that may die, and pairs (rank, other) in which rank may falsely
  // suspect other, each once and at any time. Ranks are alike, so rank 0 may be
  // among the dead.
  struct Faults {
    std::vector<int> deaths = {};
    std::vector<std::pair<int, int>> false_alarms = {};
  };

  void explore(const VoteWorld& world, const Faults& faults) {
    std::vector<std::pair<VoteWorld, Faults>> open = {{world, faults}};
    while (!open.empty() && !::testing::Test::HasFailure()) {
      const auto [state, left] = std::move(open.back());
      open.pop_back();
      const auto reach = [&](VoteWorld next, Faults rest) {
        if (seen_.insert(absl::HashOf(next, rest.deaths, rest.false_alarms))
                .second) {
          open.push_back({std::move(next), std::move(rest)});
        }
      };
      const std::vector<Event> events = state.possible();
      if (events.empty()) {
        ++ends_;
        state.check_the_end();
      }
      for (const Event& event : events) {
        VoteWorld next = state;
        next.happen(event);
        reach(std::move(next), left);
      }
      for (std::size_t i = 0; i < left.deaths.size(); ++i) {
        VoteWorld next = state;
        next.kill(left.deaths[i]);
        Faults rest = left;
        rest.deaths.erase(rest.deaths.begin() + static_cast<long>(i));
        reach(std::move(next), std::move(rest));
      }
      for (std::size_t i = 0; i < left.false_alarms.size(); ++i) {
        const auto [rank, other] = left.false_alarms[i];
        if (!state.alive(rank)) continue;
        VoteWorld next = state;
        next.suspect(rank, other);
        Faults rest = left;
        rest.false_alarms.erase(rest.false_alarms.begin() +
                                static_cast<long>(i));
        reach(std::move(next), std::move(rest));
      }
    }
    EXPECT_GT(ends_, 1u);
    ::testing::Test::RecordProperty("states", std::to_string(seen_.size()));
  }

 private:
  absl::flat_hash_set<std::size_t> seen_;  // Hashes: may miss a state.
  std::size_t ends_ = 0;
};

TEST(SurvivorVote, EveryInterleavingOfThreeRanksWithUpToTwoDeathsEndsWell) {
  Explorer().explore(VoteWorld({.size = 3}), {.deaths = {0, 1}});
}

TEST(SurvivorVote, EveryInterleavingOfThreeRanksWithAFalseAlarmEndsWell) {
  Explorer().explore(VoteWorld({.size = 3}), {.false_alarms = {{0, 1}}});
}

TEST(SurvivorVote, EveryInterleavingOfTwoRanksWithADeathAndAlarmsEndsWell) {
  Explorer().explore(VoteWorld({.size = 2}),
                     {.deaths = {0}, .false_alarms = {{0, 1}, {1, 0}}});
}

// Nodes {0, 1} and {2}: the death of rank 2 can only be suspected.
TEST(SurvivorVote, EveryInterleavingWithASeenAndAnUnseenDeathEndsWell) {
  Explorer().explore(
      VoteWorld({.size = 3, .ranks_per_node = 2, .silent_nodes = true}),
      {.deaths = {0, 2}});
}

// Worlds of up to 16 ranks with events in random order. At random moments ranks
// die, give up or are falsely suspected.
class RandomWorld {
 public:
  struct Kind {
    bool silent_nodes = false;
    bool give_up = false;
    bool false_alarms = false;
  };

  RandomWorld(std::uint64_t seed, const Kind& kind)
      : kind_(kind), random_(seed), world_(options(kind)) {}

  // Until no event is possible.
  void run() {
    // All deaths close together, or spread over the whole vote.
    const int pace = pick(2) == 0 ? 2 : 20 * world_.size();
    int faults = pick(world_.size());  // N - 1 at most.
    for (std::vector<Event> events = world_.possible();
         !events.empty() || faults > 0; events = world_.possible()) {
      if (faults > 0 && (events.empty() || pick(pace) == 0)) {
        --faults;
        go_wrong();
      } else {
        world_.happen(events[static_cast<std::size_t>(
            pick(static_cast<int>(events.size())))]);
      }
    }
  }

  const VoteWorld& world() const { return world_; }

 private:
  VoteWorld::Options options(const Kind& kind) {
    return {.size = 2 + pick(15),
            .ranks_per_node = 1 + pick(4),
            .silent_nodes = kind.silent_nodes};
  }
  int pick(int below) {
    return std::uniform_int_distribution<int>(0, below - 1)(random_);
  }
  void go_wrong() {
    const int rank = pick(world_.size());
    const int what = pick(3);
    if (!world_.alive(rank)) return;
    if (kind_.give_up && what == 0) return world_.give_up(rank);
    if (kind_.false_alarms && what == 1) {
      return world_.suspect(rank, pick(world_.size()));
    }
    world_.kill(rank);
  }

  const Kind kind_;
  std::mt19937_64 random_;
  VoteWorld world_;
};

void try_random_worlds(const RandomWorld::Kind& kind, bool all_go_on) {
  for (int seed = 0; seed < times_here(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWorld random(static_cast<std::uint64_t>(seed), kind);
    random.run();
    const VoteWorld& world = random.world();
    world.check_the_end();
    for (int rank = 0; all_go_on && rank < world.size(); ++rank) {
      if (!world.alive(rank)) continue;
      EXPECT_EQ(world.vote(rank).phase(), Phase::kEntered)
          << world.vote(rank).verdict();
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SurvivorVote, AnyDeathsAtAnyMomentLeaveAllSurvivorsInOneEpoch) {
  try_random_worlds({}, /*all_go_on=*/true);
}

TEST(SurvivorVote, RanksThatGaveUpAreNotAwaited) {
  try_random_worlds({.give_up = true}, /*all_go_on=*/false);
}

TEST(SurvivorVote, UnseenDeathsNeverSplitTheSurvivors) {
  try_random_worlds({.silent_nodes = true}, /*all_go_on=*/false);
}

TEST(SurvivorVote, FalseAlarmsNeverSplitTheSurvivors) {
  try_random_worlds({.silent_nodes = true, .false_alarms = true},
                    /*all_go_on=*/false);
}

TEST(SurvivorVote, AllMistakesTogetherNeverSplitTheSurvivors) {
  try_random_worlds(
      {.silent_nodes = true, .give_up = true, .false_alarms = true},
      /*all_go_on=*/false);
}

// Delivers letters between the votes until no vote sends more.
void talk(std::vector<SurvivorVote>& votes) {
  for (bool said = true; said;) {
    said = false;
    for (std::size_t from = 0; from < votes.size(); ++from) {
      for (const auto& letter : votes[from].take_outgoing()) {
        said = true;
        const auto to = static_cast<std::size_t>(letter.to);
        EXPECT_EQ(votes[to].receive(static_cast<int>(from), letter.bytes),
                  absl::OkStatus());
      }
    }
  }
}

std::vector<SurvivorVote> votes_of(int size) {
  std::vector<SurvivorVote> votes;
  for (int rank = 0; rank < size; ++rank) votes.emplace_back(rank, size);
  return votes;
}

TEST(SurvivorVote, TheLastRankGoesOnAlone) {
  SurvivorVote vote(2, 3);
  vote.begin();
  EXPECT_THAT(vote.awaited(), ElementsAre(0, 1));
  vote.lost(0, Certainty::kCertain);
  vote.lost(1, Certainty::kCertain);
  EXPECT_EQ(vote.phase(), Phase::kAgreed);
  EXPECT_THAT(vote.members().ranks, ElementsAre(2));
  EXPECT_EQ(vote.members().epoch, 4u);
}

TEST(SurvivorVote, AVoterOfAnotherOpinionIsNotSilent) {
  auto votes = votes_of(3);
  votes[0].begin();
  votes[1].begin();
  talk(votes);
  votes[0].lost(2, Certainty::kSuspected);
  EXPECT_THAT(votes[0].awaited(), ElementsAre(1));
  EXPECT_TRUE(votes[0].silent().empty());
  EXPECT_THAT(votes[1].silent(), ElementsAre(2));
}

TEST(SurvivorVote, LivingRanksRestartTogether) {
  auto votes = votes_of(3);
  for (SurvivorVote& vote : votes) vote.begin();
  talk(votes);
  for (SurvivorVote& vote : votes) {
    EXPECT_EQ(vote.phase(), Phase::kAgreed);
    EXPECT_THAT(vote.members().ranks, ElementsAre(0, 1, 2));
    EXPECT_EQ(vote.members().epoch, 2u);
  }
}

TEST(SurvivorVote, ALetterThatWasNotReadBeforeTheVoteIsSentAgain) {
  auto votes = votes_of(2);
  votes[0].begin();
  votes[0].take_outgoing();  // Read and dropped by the job that ends.
  votes[1].begin();
  talk(votes);
  EXPECT_EQ(votes[0].phase(), Phase::kAgreed);
  EXPECT_EQ(votes[1].phase(), Phase::kAgreed);
}

TEST(SurvivorVote, ALossAfterTheAgreementLeadsBackToTheVote) {
  auto votes = votes_of(3);
  for (SurvivorVote& vote : votes) vote.begin();
  talk(votes);
  votes[0].lost(2, Certainty::kCertain);
  EXPECT_EQ(votes[0].phase(), Phase::kVoting);
  talk(votes);
  EXPECT_EQ(votes[1].phase(), Phase::kAgreed);
  EXPECT_THAT(votes[1].members().ranks, ElementsAre(0, 1));
  EXPECT_EQ(votes[1].members().epoch, 3u);
}

TEST(SurvivorVote, AnEpochEnteredIsOutdatedByTheNewsOfALoss) {
  auto votes = votes_of(3);
  for (SurvivorVote& vote : votes) vote.begin();
  talk(votes);
  votes[1].entered();
  EXPECT_FALSE(votes[1].outdated());
  votes[0].lost(2, Certainty::kCertain);
  talk(votes);
  EXPECT_TRUE(votes[1].outdated());
  EXPECT_EQ(votes[0].phase(), Phase::kVoting);
  votes[1].begin();
  talk(votes);
  EXPECT_EQ(votes[0].phase(), Phase::kAgreed);
  EXPECT_EQ(votes[0].members().epoch, votes[1].members().epoch);
}

TEST(SurvivorVote, AMinorityThatOnlySuspectsTheOthersStopsWithAReason) {
  auto votes = votes_of(5);
  for (SurvivorVote& vote : votes) vote.begin();
  for (int rank : {0, 1}) {
    for (int silent : {2, 3, 4}) {
      votes[static_cast<std::size_t>(rank)].lost(silent, Certainty::kSuspected);
    }
  }
  for (int rank : {2, 3, 4}) {
    for (int silent : {0, 1}) {
      votes[static_cast<std::size_t>(rank)].lost(silent, Certainty::kSuspected);
    }
  }
  talk(votes);
  for (int rank : {0, 1}) {
    const auto& vote = votes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(vote.phase(), Phase::kStopped);
    EXPECT_TRUE(absl::IsAborted(vote.verdict()));
    EXPECT_THAT(std::string(vote.verdict().message()),
                HasSubstr("ranks 2, 3, 4 did not answer"));
    EXPECT_THAT(std::string(vote.verdict().message()), HasSubstr("2 of 5"));
  }
  for (int rank : {2, 3, 4}) {
    const auto& vote = votes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(vote.phase(), Phase::kAgreed);
    EXPECT_THAT(vote.members().ranks, ElementsAre(2, 3, 4));
  }
}

TEST(SurvivorVote, HalfOfTheRanksAreNoMajority) {
  SurvivorVote vote(0, 2);
  vote.begin();
  vote.lost(1, Certainty::kSuspected);
  EXPECT_EQ(vote.phase(), Phase::kStopped);
  // After a certain death the rest need no majority.
  SurvivorVote sure(0, 2);
  sure.begin();
  sure.lost(1, Certainty::kCertain);
  EXPECT_EQ(sure.phase(), Phase::kAgreed);
}

TEST(SurvivorVote, ARankTakenForLostStops) {
  auto votes = votes_of(3);
  for (SurvivorVote& vote : votes) {
    vote.lost(2, Certainty::kSuspected);
    vote.begin();
  }
  talk(votes);
  EXPECT_EQ(votes[0].phase(), Phase::kAgreed);
  EXPECT_EQ(votes[1].phase(), Phase::kAgreed);
  EXPECT_EQ(votes[2].phase(), Phase::kStopped);
  EXPECT_THAT(std::string(votes[2].verdict().message()),
              HasSubstr("ranks 0, 1 would go on without this rank"));
}

TEST(SurvivorVote, MalformedLettersChangeNoVote) {
  SurvivorVote vote(0, 3);
  vote.begin();
  vote.take_outgoing();
  const LostRanks before = vote.lost_ranks();
  const std::string good = encode({.lost_ranks = {.restarts = 1}}, 3);
  for (const auto& [from, bytes] : std::vector<std::pair<int, std::string>>{
           {1, ""},
           {1, "nonsense"},
           {1, good.substr(0, good.size() - 1)},
           {1, good + "x"},
           {3, good},
           {-1, good},
           {1, encode({.lost_ranks = {.restarts = 1, .dead = {1}}}, 3)},
           {1, encode({.lost_ranks = {.restarts = 1}}, 4)}}) {
    const absl::Status status = vote.receive(from, bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank " + std::to_string(from)));
  }
  EXPECT_EQ(vote.lost_ranks(), before);
  EXPECT_TRUE(vote.take_outgoing().empty());
}

}  // namespace
}  // namespace hvd::coordinator
