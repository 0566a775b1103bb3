// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <latch>
#include <new>
#include <thread>

#include "horovodpp/runtime/settings/waits_at_once.h"
#include "test/runtime/relayed_wires.h"
#include "test/runtime/suite_support.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;

using WiresOf =
    std::function<std::unique_ptr<transport::Communicator>(int rank)>;

// Like run_world(), with the test's own wires.
void run_over(int size, const WiresOf& wires_of,
              const std::function<void(Runtime&)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto runtime = Runtime::start({}, wires_of(rank));
      ASSERT_EQ(runtime.status(), absl::OkStatus());
      body(**runtime);
      (*runtime)->stop().IgnoreError();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A sent message leaves only after this rank has polled for mail often enough
// and the receiver has room, although send reports success at once. MPI may
// behave so.
class LazyWires : public RelayedWires {
 public:
  LazyWires(std::unique_ptr<transport::Communicator> wires,
            std::chrono::milliseconds until_room)
      : RelayedWires(std::move(wires)), until_room_(until_room) {}

  absl::StatusOr<transport::TransferId> post_send(
      int to, transport::DataTag tag,
      std::span<const std::byte> bytes) override {
    looks_ = 0;
    room_at_ = std::chrono::steady_clock::now() + until_room_;
    held_.push_back({to, tag, {bytes.begin(), bytes.end()}});
    return kHeld;
  }
  absl::StatusOr<bool> test(transport::TransferId id) override {
    return id == kHeld ? true : RelayedWires::test(id);
  }
  absl::StatusOr<std::optional<transport::Mail>> receive_mail() override {
    constexpr int kLooks = 15;
    if (!held_.empty() && ++looks_ >= kLooks &&
        std::chrono::steady_clock::now() >= room_at_) {
      for (; !held_.empty(); held_.pop_front()) {
        sent_.push_back(std::move(held_.front()));
        EXPECT_TRUE(RelayedWires::post_send(sent_.back().to, sent_.back().tag,
                                            sent_.back().bytes)
                        .ok());
      }
    }
    return RelayedWires::receive_mail();
  }

 private:
  static constexpr transport::TransferId kHeld = ~transport::TransferId{0};
  struct Message {
    int to;
    transport::DataTag tag;
    std::vector<std::byte> bytes;
  };
  const std::chrono::milliseconds until_room_;
  std::chrono::steady_clock::time_point room_at_;
  int looks_ = 0;
  std::deque<Message> held_;
  std::deque<Message> sent_;
};

// The root of the broadcast does not lead its node, and has no other work.
void broadcast_over_lazy_wires(std::chrono::milliseconds until_room) {
  transport::LoopbackWorld world(4, {.ranks_per_node = 2});
  std::latch all_have_it(4);
  run_over(
      4,
      [&](int rank) -> std::unique_ptr<transport::Communicator> {
        auto wires = world.communicator(rank);
        if (rank != 3) return wires;
        return std::make_unique<LazyWires>(std::move(wires), until_room);
      },
      [&](Runtime& job) {
        float value = static_cast<float>(suite::rank_of(job));
        EXPECT_EQ(
            job.broadcast_async_(TensorView::of(&value, {}), 3, {.name = "x"})
                .wait(),
            absl::OkStatus());
        EXPECT_EQ(value, 3);
        // No rank stops before all have the result, because a stop would wake
        // the others.
        all_have_it.arrive_and_wait();
      });
}

TEST(Progress, DataOfAnIdleSenderArrives) {
  broadcast_over_lazy_wires(std::chrono::milliseconds(0));
}

TEST(Progress, DataThatIsSentArrivesThoughItsReceiverHasNoRoomForAWhile) {
  broadcast_over_lazy_wires(std::chrono::milliseconds(150));
}

// Runs out of memory on one thread.
class ThrowingWires : public RelayedWires {
 public:
  using RelayedWires::RelayedWires;
  absl::StatusOr<std::optional<transport::Mail>> receive_mail() override {
    if (throws_ && std::this_thread::get_id() == thread_.load()) {
      throws_ = false;
      throw std::bad_alloc();
    }
    return RelayedWires::receive_mail();
  }
  void throw_on_this_thread() {
    thread_.store(std::this_thread::get_id());
    throws_ = true;
  }

 private:
  std::atomic<bool> throws_{false};
  std::atomic<std::thread::id> thread_{};
};

TEST(Progress, AnExceptionOnAWaitingThreadBreaksTheJobWithoutDelay) {
  transport::LoopbackWorld world(2, {.ranks_per_node = 1});
  ThrowingWires* thrower = nullptr;
  std::latch both_know(2);
  run_over(
      2,
      [&](int rank) -> std::unique_ptr<transport::Communicator> {
        auto wires = world.communicator(rank);
        if (rank != 1) return wires;
        auto throwing = std::make_unique<ThrowingWires>(std::move(wires));
        thrower = throwing.get();
        return throwing;
      },
      [&](Runtime& job) {
        float value = 1;
        const auto reduce = [&] {
          return job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
              .wait();
        };
        if (suite::rank_of(job) == 1) thrower->throw_on_this_thread();
        // A thread that cannot drive at once leaves the driving to the other
        // one.
        absl::Status status;
        while (status.ok()) status = reduce();
        EXPECT_TRUE(absl::IsAborted(status)) << status;
        EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1"));
        EXPECT_THAT(suite::text_of(status), HasSubstr("no memory left"));
        both_know.arrive_and_wait();
        EXPECT_TRUE(absl::IsAborted(job.stop()));
      });
}

TEST(Progress, AWaitThatIsInterruptedLeavesTheOperationToTheJob) {
  std::latch interrupted(2);
  transport::LoopbackWorld world(2, {.ranks_per_node = 2});
  run_over(
      2, [&](int rank) { return world.communicator(rank); },
      [&](Runtime& job) {
        float value = static_cast<float>(suite::rank_of(job));
        if (suite::rank_of(job) == 1) interrupted.arrive_and_wait();
        const Future<void> sum = job.allreduce_async_(
            TensorView::of(&value, {}), {.name = "x", .op = ReduceOp::kSum});
        if (suite::rank_of(job) == 0) {
          EXPECT_FALSE(sum.wait_unless([] { return true; }));
          interrupted.arrive_and_wait();
        }
        EXPECT_EQ(sum.wait(), absl::OkStatus());
        EXPECT_EQ(value, 1);
      });
}

// A rank that knows the order of steps executes without negotiation. Its thread
// is then inside a collective that no other thread can take over.
TEST(Progress, AWaitThatIsInterruptedInACollectiveBreaksTheJob) {
  std::latch interrupted(2);
  transport::LoopbackWorld world(2, {.ranks_per_node = 2});
  run_over(
      2, [&](int rank) { return world.communicator(rank); },
      [&](Runtime& job) {
        float value = 1;
        const auto reduce = [&] {
          const WaitsAtOnce at_once;
          return job.allreduce_async_(TensorView::of(&value, {}),
                                      {.name = "x"});
        };
        for (int step = 0; step < 100; ++step) {
          EXPECT_EQ(reduce().wait(), absl::OkStatus());
        }
        if (suite::rank_of(job) == 1) {
          interrupted.arrive_and_wait();
        } else {
          EXPECT_FALSE(reduce().wait_unless([] { return true; }));
          interrupted.arrive_and_wait();
        }
        const absl::Status status = reduce().wait();
        EXPECT_TRUE(absl::IsAborted(status)) << status;
        EXPECT_THAT(suite::text_of(status),
                    HasSubstr("was interrupted in a collective"));
        EXPECT_THAT(suite::text_of(status), HasSubstr("rank 0"));
        EXPECT_TRUE(absl::IsAborted(job.stop()));
      });
}

}  // namespace
}  // namespace hvd
