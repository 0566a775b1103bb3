// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/coordinator/failure/lost_ranks.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/epoch_router.h"
#include "test/runtime/mortal.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;

// How a job of threads loses ranks.
struct Plan {
  int size = 4;
  int ranks_per_node = 0;
  Mortal::Options wires = {};
  std::vector<int> victims = {};
  // The i-th victim dies after sending `messages` + i messages once the job is
  // broken, or at the start of the next epoch. Unset: all victims die in the
  // first epoch, which breaks the job.
  std::optional<int> messages = {};
};

class Drill {
 public:
  explicit Drill(const Plan& plan)
      : plan_(plan),
        world_(plan.size, {.ranks_per_node = plan.ranks_per_node}),
        all_started_(plan.size),
        survivors_done_(plan.size - static_cast<int>(plan.victims.size())) {}

  void run() {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < plan_.size; ++rank) {
      threads.emplace_back([this, rank] { be(rank); });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void be(int rank) {
    auto wires = std::make_unique<Mortal>(world_, rank, plan_.wires);
    Mortal& mortal = *wires;
    auto job = Runtime::start({}, std::move(wires));
    EXPECT_EQ(job.status(), absl::OkStatus());
    all_started_.arrive_and_wait();
    if (plan_.messages.has_value() && rank == 0) (*job)->abort("is tired");
    const auto victim =
        std::find(plan_.victims.begin(), plan_.victims.end(), rank);
    if (victim == plan_.victims.end()) {
      survive(*std::move(job), rank);
      survivors_done_.count_down();
      return;
    }
    const int number = static_cast<int>(victim - plan_.victims.begin());
    std::unique_ptr<Runtime> next;
    if (plan_.messages.has_value()) {
      (*job)->barrier_async().wait().IgnoreError();
      mortal.die_after(*plan_.messages + number);
      if (auto reformed = (*job)->reform(); reformed.ok()) {
        next = *std::move(reformed);
      }
    }
    mortal.die();
    // Dead ranks do not shut down.
    survivors_done_.wait();
  }

  // Re-forms and sums until the sum counts only the survivors.
  void survive(std::unique_ptr<Runtime> job, int rank) {
    const int survivors = plan_.size - static_cast<int>(plan_.victims.size());
    std::int64_t expected = (1 << plan_.size) - 1;
    for (int victim : plan_.victims) expected -= 1 << victim;
    while (true) {
      std::int64_t sum = 1 << rank;
      const absl::Status status =
          job->allreduce_async_(TensorView::of(&sum, {}),
                                {.name = "sum", .op = ReduceOp::kSum})
              .wait();
      if (status.ok() && sum == expected) break;
      if (status.ok()) continue;
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      auto next = job->reform();
      ASSERT_EQ(next.status(), absl::OkStatus()) << "rank " << rank;
      job = *std::move(next);
    }
    EXPECT_EQ(job->topology().size(), survivors);
    EXPECT_EQ(job->stop(), absl::OkStatus());
  }

  const Plan plan_;
  transport::LoopbackWorld world_;
  std::latch all_started_;
  std::latch survivors_done_;
};

struct ReformLayout {
  const char* name;
  int ranks_per_node;
  bool near_sighted;
};
constexpr ReformLayout kReformLayouts[] = {
    {"OneNode", 0, false},
    {"NodesOfTwo", 2, false},
    {"NodesOfOne", 1, false},
    {"NodesOfTwoThatSeeOnlyTheirOwn", 2, true}};

class Reform : public ::testing::TestWithParam<
                   std::tuple<ReformLayout, std::vector<int>>> {
 protected:
  Plan plan() const {
    const auto& [layout, victims] = GetParam();
    return {.ranks_per_node = layout.ranks_per_node,
            .wires = {.near_sighted = layout.near_sighted},
            .victims = victims};
  }
  // Other nodes do not see the death of a whole node.
  bool is_seen(const Plan& plan) const {
    return !plan.wires.near_sighted || plan.victims.size() == 1 ||
           plan.victims == std::vector<int>{0, 2};
  }
};

// One, two, and all but one victim; among them rank 0 and leaders of nodes.
INSTANTIATE_TEST_SUITE_P(
    Threads, Reform,
    ::testing::Combine(::testing::ValuesIn(kReformLayouts),
                       ::testing::Values(std::vector<int>{0},
                                         std::vector<int>{3},
                                         std::vector<int>{0, 2},
                                         std::vector<int>{2, 3},
                                         std::vector<int>{0, 1, 2},
                                         std::vector<int>{1, 2, 3})),
    [](const auto& chosen) {
      std::string name = std::get<0>(chosen.param).name;
      name += "Without";
      for (int rank : std::get<1>(chosen.param)) name += std::to_string(rank);
      return name;
    });

TEST_P(Reform, SurvivorsOfAnEpochSumOnInTheNext) {
  if (is_seen(plan())) Drill(plan()).run();
}

TEST_P(Reform, RanksMayDieAtAnyMomentOfTheAgreementAndOfTheStart) {
  for (int messages = 0; messages < 12; ++messages) {
    SCOPED_TRACE("after " + std::to_string(messages) + " messages");
    Plan plan = this->plan();
    plan.messages = messages;
    if (is_seen(plan)) Drill(plan).run();
    if (HasFailure()) return;
  }
}

TEST(ReformAfterDeaths, UnsentMailToDeadRanksDelaysNoRank) {
  for (int ranks_per_node : {0, 2}) {
    Drill({.ranks_per_node = ranks_per_node,
           .wires = {.never_flushed = true},
           .victims = {1}})
        .run();
  }
}

TEST(ReformOfTheLiving, AllRanksGoOnIfNoRankDied) {
  run_world({.size = 3}, [](Runtime& job, transport::LoopbackWorld&) {
    if (job.topology().rank() == 1) job.abort("is tired");
    job.barrier_async().wait().IgnoreError();
    auto next = job.reform();
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_EQ((*next)->topology().rank(), job.topology().rank());
    EXPECT_EQ((*next)->barrier_async().wait(), absl::OkStatus());
    EXPECT_EQ((*next)->stop(), absl::OkStatus());
  });
}

TEST(ReformOfTheLiving, TensorsOfTheArenaGoOn) {
  run_world({.size = 3}, [](Runtime& job, transport::LoopbackWorld&) {
    constexpr std::size_t kCount = 10'000;
    std::vector<float, ArenaAllocator<float>> x(
        kCount, 1, ArenaAllocator<float>(job.arena()));
    if (job.topology().rank() == 1) job.abort("is tired");
    job.barrier_async().wait().IgnoreError();
    auto next = job.reform();
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_EQ((*next)->arena(), job.arena());
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ((*next)
                    ->allreduce_async_(TensorView::of(x.data(), {kCount}),
                                       {.name = "x", .op = ReduceOp::kSum})
                    .wait(),
                absl::OkStatus());
    }
    EXPECT_EQ(std::vector<float>(x.begin(), x.end()),
              std::vector<float>(kCount, 27));
    EXPECT_EQ((*next)->stop(), absl::OkStatus());
  });
}

TEST(ReformOfTheLiving, ManyEpochsMayFollowEachOther) {
  std::barrier all_have_summed(3);
  run_world({.size = 3, .ranks_per_node = 2}, [&](Runtime& first,
                                                  transport::LoopbackWorld&) {
    std::vector<std::unique_ptr<Runtime>> jobs;
    Runtime* job = &first;
    for (int epoch = 0; epoch < 5; ++epoch) {
      float value = 1;
      EXPECT_EQ(job->allreduce_async_(TensorView::of(&value, {}),
                                      {.name = "x", .op = ReduceOp::kSum})
                    .wait(),
                absl::OkStatus());
      EXPECT_EQ(value, 3);
      all_have_summed.arrive_and_wait();
      if (job->topology().rank() == epoch % 3) job->abort("is tired");
      job->barrier_async().wait().IgnoreError();
      auto next = job->reform();
      ASSERT_EQ(next.status(), absl::OkStatus());
      EXPECT_TRUE(absl::IsFailedPrecondition(job->reform().status()));
      jobs.push_back(*std::move(next));
      job = jobs.back().get();
    }
    EXPECT_EQ(job->stop(), absl::OkStatus());
  });
}

TEST(ReformOfTheLiving, TheLogNamesTheProcessSetsThatAreGone) {
  ::testing::internal::CaptureStderr();
  std::barrier all_know(3);
  run_world({.size = 3}, [&](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_TRUE(job.add_process_set_async({0, 2}).wait().ok());
    all_know.arrive_and_wait();
    if (job.topology().rank() == 1) job.abort("is tired");
    job.barrier_async().wait().IgnoreError();
    auto next = job.reform();
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_EQ((*next)->process_sets().size(), 1u);
    EXPECT_EQ((*next)->stop(), absl::OkStatus());
  });
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string named = "are gone: process set 1 [0, 2]; add";
  EXPECT_THAT(log, HasSubstr(named));
  EXPECT_EQ(log.find(named), log.rfind(named));
}

TEST(ReformOfTheLiving, AJobThatIsNotBrokenIsLeftAlone) {
  run_world({.size = 2}, [](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_TRUE(absl::IsFailedPrecondition(job.reform().status()));
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
    EXPECT_EQ(job.stop(), absl::OkStatus());
    EXPECT_TRUE(absl::IsFailedPrecondition(job.reform().status()));
  });
}

// Three of four ranks agree; the fourth arrives after they have gone on.
TEST(ReformOfTheLiving, AMajorityLeavesALateRankBehind) {
  WorldOptions options{.size = 4};
  options.config.start_timeout = std::chrono::seconds(4);
  std::latch gone_on(3);
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    const bool late = job.topology().rank() == 2;
    if (late) job.abort("is busy");
    job.barrier_async().wait().IgnoreError();
    if (late) gone_on.wait();
    auto next = job.reform();
    if (late) {
      EXPECT_FALSE(next.ok());
      return;
    }
    gone_on.count_down();
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_EQ((*next)->topology().size(), 3);
    EXPECT_EQ((*next)->barrier_async().wait(), absl::OkStatus());
    EXPECT_EQ((*next)->stop(), absl::OkStatus());
  });
}

// The message, as it goes over the wires, with which rank 0 of three announces
// that it lost rank 2.
std::string notice_of_rank_2() {
  transport::LoopbackWorld world(2);
  transport::EpochRouter sender(world.communicator(0));
  const auto receiver = world.communicator(1);
  EXPECT_EQ(
      sender.send(1, {}, coordinator::encode({.lost_ranks = {.dead = {2}}}, 3)),
      absl::OkStatus());
  while (true) {
    auto mail = receiver->receive_mail();
    if (!mail.ok() || mail->has_value()) return (*mail)->bytes;
  }
}

class ToldWires : public RelayedWires {
 public:
  using RelayedWires::RelayedWires;

  void hear(std::string bytes) {
    bytes_ = std::move(bytes);
    has_mail_.store(true);
  }
  absl::StatusOr<std::optional<transport::Mail>> receive_mail() override {
    if (!has_mail_.exchange(false)) return RelayedWires::receive_mail();
    return transport::Mail{.from = 0, .bytes = bytes_};
  }

 private:
  std::string bytes_;
  std::atomic<bool> has_mail_{false};
};

// Other ranks may begin to re-form the job before a rank hears that it is
// broken.
TEST(ReformOfTheLiving, ARankThatHearsOfTheReformBlamesTheLostRank) {
  transport::LoopbackWorld world(3, {.ranks_per_node = 1});
  std::barrier all_have_started(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      auto wires = std::make_unique<ToldWires>(world.communicator(rank));
      ToldWires& told = *wires;
      auto job = Runtime::start({}, std::move(wires));
      ASSERT_EQ(job.status(), absl::OkStatus());
      all_have_started.arrive_and_wait();
      if (rank == 1) told.hear(notice_of_rank_2());
      absl::Status status;
      while (status.ok()) status = (*job)->barrier_async().wait();
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  testing::StartsWith("rank 2 (host"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// As after a stall that a stopped rank caused.
TEST(ReformOfTheLiving, DoesNotWaitForSilentRanks) {
  transport::LoopbackWorld world(4, {.ranks_per_node = 1});
  Config config;
  config.start_timeout = std::chrono::hours(1);
  std::latch gone_on(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      auto wires = std::make_unique<ToldWires>(world.communicator(rank));
      ToldWires& told = *wires;
      auto job = Runtime::start(config, std::move(wires));
      ASSERT_EQ(job.status(), absl::OkStatus());
      constexpr std::uint32_t kFirstEpoch = 1;
      if (rank == 1) {
        told.hear(coordinator::encode(
            kFirstEpoch,
            coordinator::Break{.why = "the job has stalled", .suspects = {2}}));
      }
      while ((*job)->barrier_async().wait().ok()) {
      }
      if (rank == 2) return gone_on.wait();
      auto next = (*job)->reform();
      gone_on.count_down();
      ASSERT_EQ(next.status(), absl::OkStatus());
      EXPECT_EQ((*next)->topology().size(), 3);
      EXPECT_EQ((*next)->barrier_async().wait(), absl::OkStatus());
      EXPECT_EQ((*next)->stop(), absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ReformOfTheLiving, HalfOfTheRanksDoNotGoOnWithoutTheOthers) {
  WorldOptions options{.size = 2};
  options.config.start_timeout = std::chrono::seconds(2);
  std::latch tried(1);
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    if (job.topology().rank() == 0) job.abort("is tired");
    job.barrier_async().wait().IgnoreError();
    if (job.topology().rank() == 0) {
      const absl::Status status = job.reform().status();
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("not a majority"));
      EXPECT_EQ(job.reform().status(), status);
      tried.count_down();
    }
    tried.wait();
  });
}

}  // namespace
}  // namespace hvd
