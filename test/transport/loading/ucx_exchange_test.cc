// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loading/ucx_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/transport/loopback/loopback.h"

namespace hvd::transport {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = absl::StatusOr<std::vector<std::string>>;

std::chrono::steady_clock::time_point in_a_minute() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}

// The results of two ranks.
std::vector<Texts> of_two(const std::function<Texts(Communicator&)>& body) {
  LoopbackWorld world(2);
  std::vector<Texts> results(2);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto wires = world.communicator(rank);
      results[static_cast<std::size_t>(rank)] = body(*wires);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return results;
}

TEST(UcxExchange, GivesEveryRankAllTexts) {
  const auto results = of_two([](Communicator& wires) {
    const std::string mine("a\n\0b", 4);
    return exchange_for_ucx(wires, wires.rank() == 0 ? mine : std::string(),
                            in_a_minute());
  });
  for (const Texts& all : results) {
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_THAT(*all, ElementsAre(std::string("a\n\0b", 4), ""));
  }
}

TEST(UcxExchange, ReturnsTheErrorOfOneRankOnAll) {
  const auto results = of_two([](Communicator& wires) {
    absl::StatusOr<std::string> mine = "address";
    if (wires.rank() == 1) mine = absl::FailedPreconditionError("no module");
    return exchange_for_ucx(wires, mine, in_a_minute());
  });
  EXPECT_EQ(results[1].status(), absl::FailedPreconditionError("no module"));
  EXPECT_TRUE(absl::IsFailedPrecondition(results[0].status()));
  EXPECT_THAT(std::string(results[0].status().message()),
              AllOf(HasSubstr("rank 1 ("), HasSubstr("no module")));
}

// Such a rank exchanges its settings.
TEST(UcxExchange, NamesARankThatDoesNotUseUcx) {
  const auto results = of_two([](Communicator& wires) {
    if (wires.rank() == 0) {
      return wires.exchange("HOROVODPP_TRANSPORT=tcp\nmore", in_a_minute());
    }
    return exchange_for_ucx(wires, "address", in_a_minute());
  });
  EXPECT_TRUE(absl::IsInvalidArgument(results[1].status()));
  EXPECT_THAT(std::string(results[1].status().message()),
              AllOf(HasSubstr("rank 0 ("), HasSubstr("HOROVODPP_TRANSPORT=ucx"),
                    HasSubstr("the same value on every rank")));
}

}  // namespace
}  // namespace hvd::transport
