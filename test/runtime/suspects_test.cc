#include "horovodpp/runtime/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/silence.h"
#include "horovodpp/coordinator/stall_inspector.h"
#include "horovodpp/core/rank_news.h"

namespace hvd::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Ranks 0 and 1 on host a, 2 and 3 on host b.
Topology two_nodes(int rank) {
  std::vector<Peer> peers;
  for (int i = 0; i < 4; ++i) {
    const std::string host = i < 2 ? "a" : "b";
    peers.push_back({.host = host, .pid = 100 + i, .node = host});
  }
  return *Topology::from_peers(rank, peers);
}

TEST(Suspects, AreThoseWhoDidNotAnswerWhenAStallWasLookedInto) {
  const Topology topology = two_nodes(0);
  const coordinator::Inspected found = {
      .ready_count = 1,
      .missing_count = 3,
      .ready = {0},
      .missing = {{.rank = 1, .last_name = "rank 2"},
                  {.rank = 2, .answers = false},
                  {.rank = 3, .answers = false, .remark = "it is stopped"}}};
  const std::string why = coordinator::stall_text(
      {0, "x"}, 600'000, found,
      [&](int rank) { return topology.describe(rank); });
  EXPECT_THAT(suspects_in(why, topology), ElementsAre(2, 3));
}

TEST(Suspects, IsWhoDidNotEvenAsk) {
  const Topology topology = two_nodes(1);
  const std::string why =
      coordinator::silence_text({.rank = 0, .key = {0, "x"}, .waited_ms = 1000},
                                topology.describe(0), "");
  EXPECT_THAT(suspects_in(why, topology), ElementsAre(0));
}

TEST(Suspects, AreAllRanksOfANodeThatIsSilent) {
  const Topology topology = two_nodes(0);
  EXPECT_THAT(
      suspects_in(absl::StrCat(topology.describe(2), " ", kNodeIsSilent),
                  topology),
      ElementsAre(2, 3));
}

TEST(Suspects, AreNotThoseOfWhomOtherThingsAreSaid) {
  const Topology topology = two_nodes(0);
  for (const std::string& why :
       {absl::StrCat(topology.describe(1), " ended without leaving the job"),
        absl::StrCat("rank 1: ", coordinator::kDoesNotAnswer),
        absl::StrCat("rank 9 (host 'c', pid 1) ", coordinator::kDoesNotAnswer),
        std::string("rank "), std::string()}) {
    EXPECT_THAT(suspects_in(why, topology), IsEmpty()) << why;
  }
}

TEST(Suspects, IsNobodyOneself) {
  const Topology topology = two_nodes(2);
  EXPECT_THAT(
      suspects_in(absl::StrCat(topology.describe(2), " ", kNodeIsSilent),
                  topology),
      ElementsAre(3));
}

}  // namespace
}  // namespace hvd::runtime
