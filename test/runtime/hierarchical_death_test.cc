// SPDX-License-Identifier: Apache-2.0
// Ranks that die in the middle of a reduction between nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "test/runtime/relayed_wires.h"
#include "test/runtime/suite_support.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;

// The moment of death: before sending data chunk number `chunks`, or at mail
// poll number `looks`. Ranks that wait at their node's board poll mail.
struct Doom {
  int chunks = 1000;
  int looks = 1'000'000'000;
};

class DoomedWires : public RelayedWires {
 public:
  DoomedWires(transport::LoopbackWorld& world, int rank,
              std::latch& survivors_know)
      : RelayedWires(world.communicator(rank)),
        world_(world),
        survivors_know_(survivors_know) {}

  void die_after(const Doom& doom) {
    chunks_ = doom.chunks;
    looks_ = doom.looks;
    is_doomed_.store(true);
  }
  absl::StatusOr<transport::TransferId> post_send(
      int to, transport::DataTag tag,
      std::span<const std::byte> bytes) override {
    if (is_doomed_.load() && chunks_-- <= 0) die();
    if (is_dead_.load()) return gone();
    return RelayedWires::post_send(to, tag, bytes);
  }
  absl::StatusOr<std::optional<transport::Mail>> receive_mail() override {
    if (is_doomed_.load() && looks_-- <= 0) die();
    if (is_dead_.load()) return gone();
    return RelayedWires::receive_mail();
  }
  absl::StatusOr<bool> test(transport::TransferId id) override {
    if (is_dead_.load()) return gone();
    return RelayedWires::test(id);
  }

 private:
  static absl::Status gone() { return absl::AbortedError("is dead"); }
  // A dead rank blocks until the survivors have seen the death.
  void die() {
    if (is_dead_.exchange(true)) return;
    world_.kill(rank());
    survivors_know_.wait();
  }

  transport::LoopbackWorld& world_;
  std::latch& survivors_know_;
  std::atomic<bool> is_doomed_{false};
  std::atomic<bool> is_dead_{false};
  std::atomic<int> chunks_{0};
  std::atomic<int> looks_{0};
};

// The survivors of four ranks on two nodes get an error that names `victim`.
void expect_named_death(int victim, const Doom& doom) {
  constexpr int kRanks = 4;
  transport::LoopbackWorld world(kRanks, {.ranks_per_node = 2});
  std::latch all_have_reduced(kRanks);
  std::latch survivors_know(kRanks - 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      auto wires = std::make_unique<DoomedWires>(world, rank, survivors_know);
      DoomedWires& doomed = *wires;
      auto job = Runtime::start({}, std::move(wires));
      ASSERT_EQ(job.status(), absl::OkStatus());
      // 16 chunks.
      std::vector<float> values(2'000'000, 1.0f);
      const TensorView view = TensorView::of(
          values.data(), {static_cast<std::int64_t>(values.size())});
      const auto reduce = [&] {
        return (*job)
            ->allreduce_async_(view, {.name = "x", .op = ReduceOp::kSum})
            .wait();
      };
      EXPECT_EQ(reduce(), absl::OkStatus());
      all_have_reduced.arrive_and_wait();
      if (rank == victim) doomed.die_after(doom);
      const absl::Status status = reduce();
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      if (rank == victim) return;
      EXPECT_THAT(suite::text_of(status),
                  HasSubstr("rank " + std::to_string(victim) + " (host "));
      EXPECT_THAT(suite::text_of(status), HasSubstr("SIGKILL"));
      survivors_know.count_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HierarchicalDeath, WithinANodeIsNamedOnAllOthers) {
  for (const int victim : {0, 3}) {
    for (const int looks : {0, 10, 60}) {
      // A victim that never waits at the board dies at chunk 15.
      expect_named_death(victim, {.chunks = 15, .looks = looks});
    }
  }
}

TEST(HierarchicalDeath, BetweenNodesIsNamedOnAllOthers) {
  for (const int victim : {1, 2}) {
    for (const int chunks : {1, 4, 9}) {
      expect_named_death(victim, {.chunks = chunks});
    }
  }
}

}  // namespace
}  // namespace hvd
