// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/ucx/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/thread/promise.h"
#include "horovodpp/transport/local/communicator.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "horovodpp/transport/subset_communicator.h"
#include "test/transport/child_process.h"
#include "test/transport/communicator_suite.h"

namespace hvd::transport {
namespace {

using ::testing::HasSubstr;

std::chrono::steady_clock::time_point ample() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

std::unique_ptr<Communicator> over_ucx(std::unique_ptr<Communicator> wires) {
  auto communicator = join_by_ucx(std::move(wires), {.deadline = ample()});
  EXPECT_TRUE(communicator.ok()) << communicator.status();
  return communicator.ok() ? *std::move(communicator) : nullptr;
}

JobKind ucx_threads(int size) {
  return {.name = "Ucx" + std::to_string(size),
          .run = [=](const std::function<void(Communicator&)>& body) {
            LoopbackWorld world(size);
            std::vector<std::thread> ranks;
            for (int rank = 0; rank < size; ++rank) {
              ranks.emplace_back([&, rank] {
                const auto communicator = over_ucx(world.communicator(rank));
                if (communicator != nullptr) body(*communicator);
              });
            }
            for (std::thread& rank : ranks) rank.join();
          }};
}

// Later epochs of one job, without rank 1.
JobKind ucx_epochs() {
  return {.name = "UcxEpochs",
          .run = [=](const std::function<void(Communicator&)>& body) {
            LoopbackWorld world(3);
            std::vector<std::thread> ranks;
            for (int rank = 0; rank < 3; ++rank) {
              ranks.emplace_back([&, rank] {
                const auto router =
                    std::make_shared<EpochRouter>(std::shared_ptr<Communicator>(
                        over_ucx(world.communicator(rank))));
                if (rank == 1) return;
                for (const std::uint32_t epoch : {2u, 3u, 5u}) {
                  const auto subset = make_subset_communicator(
                      router, {.members = {0, 2}, .epoch = epoch});
                  ASSERT_TRUE(subset.ok()) << subset.status();
                  body(**subset);
                }
              });
            }
            for (std::thread& rank : ranks) rank.join();
          }};
}

INSTANTIATE_TEST_SUITE_P(Ucx, CommunicatorSuite,
                         ::testing::Values(ucx_threads(1), ucx_threads(2),
                                           ucx_threads(3), ucx_threads(4),
                                           ucx_epochs()),
                         [](const auto& kind) { return kind.param.name; });

// Rank 1 is a separate process.
class UcxWithAChild : public ::testing::Test {
 protected:
  void start(const std::function<void(Communicator&)>& body) {
    static int jobs = 0;  // A process meets by each name once.
    LocalOptions options = {.rendezvous = "hvd-ucx-test-" +
                                          std::to_string(::getpid()) + "-" +
                                          std::to_string(++jobs),
                            .rank = 1,
                            .size = 2,
                            .deadline = ample()};
    child_ = std::make_unique<ChildProcess>([&] {
      auto wires = make_local_communicator(options);
      if (!wires.ok()) return 1;
      auto communicator = join_by_ucx(*std::move(wires), {.deadline = ample()});
      if (!communicator.ok()) return 2;
      body(**communicator);
      return 0;
    });
    options.rank = 0;
    auto wires = make_local_communicator(options);
    ASSERT_TRUE(wires.ok()) << wires.status();
    communicator_ = over_ucx(*std::move(wires));
    ASSERT_NE(communicator_, nullptr);
    communicator_->on_peer_lost(
        [this](int rank, const std::string&) { lost_.set(rank); });
  }

  // Until the death of rank 1 is reported.
  void kill_the_child() {
    auto lost = lost_.future();
    child_->kill(SIGKILL);
    EXPECT_EQ(lost.wait().value(), 1);
  }

  std::string memory_ = std::string(4 << 20, 'm');
  Promise<int> lost_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<Communicator> communicator_;
};

[[noreturn]] void sleep_for_ever() {
  while (true) ::pause();
}

TEST_F(UcxWithAChild, ADeadRankIsReportedByTheWiresAloneAndNothingHangs) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator&) { sleep_for_ever(); }));
  const auto bytes = std::as_writable_bytes(std::span(memory_));
  std::vector<TransferId> posted;
  for (const std::size_t size : {std::size_t{1}, bytes.size()}) {
    posted.push_back(
        communicator_->post_send(1, {.sequence = 1}, bytes.first(size))
            .value());
    posted.push_back(
        communicator_->post_receive(1, {.sequence = 2}, bytes.first(size))
            .value());
  }
  ASSERT_NO_FATAL_FAILURE(kill_the_child());
  for (int look = 0; look < 1000; ++look) {
    for (const TransferId id : posted) {
      const auto done = communicator_->test(id);
      ASSERT_TRUE(done.ok() || absl::IsInvalidArgument(done.status()))
          << done.status();
    }
  }
  for (const TransferId id : posted) communicator_->abandon(id);
  communicator_.reset();
}

TEST_F(UcxWithAChild, ItEndsWithTransfersUnderWay) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator&) { sleep_for_ever(); }));
  const auto bytes = std::as_bytes(std::span(memory_));
  ASSERT_TRUE(communicator_->post_send(1, {.sequence = 1}, bytes).ok());
  communicator_->distrust();
  communicator_.reset();
}

TEST_F(UcxWithAChild, LargeTransfersCrossProcesses) {
  ASSERT_NO_FATAL_FAILURE(start([this](Communicator& wires) {
    const auto bytes = std::as_writable_bytes(std::span(memory_));
    const TransferId id = wires.post_receive(0, {.sequence = 1}, bytes).value();
    while (!wires.test(id).value()) {
    }
    const TransferId back = wires.post_send(0, {.sequence = 2}, bytes).value();
    while (!wires.test(back).value()) {
    }
  }));
  const std::string text(memory_.size(), 'x');
  const TransferId id =
      communicator_
          ->post_send(1, {.sequence = 1}, std::as_bytes(std::span(text)))
          .value();
  const TransferId back =
      communicator_
          ->post_receive(1, {.sequence = 2},
                         std::as_writable_bytes(std::span(memory_)))
          .value();
  for (const TransferId one : {id, back}) {
    for (const auto limit = ample(); !communicator_->test(one).value();) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
    }
  }
  EXPECT_TRUE(memory_ == text);
  EXPECT_EQ(child_->exit_code(), 0);
}

}  // namespace
}  // namespace hvd::transport
