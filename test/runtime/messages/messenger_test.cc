// SPDX-License-Identifier: Apache-2.0
// How messages end that no rank receives. The suite of Runtime has the others.
#include "horovodpp/runtime/messages/messenger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "test/runtime/suite_support.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using transport::LoopbackWorld;

class Messages : public ::testing::TestWithParam<int> {
 protected:
  // Two ranks: on one node, or on two.
  WorldOptions two() const { return {.size = 2, .ranks_per_node = GetParam()}; }
};

INSTANTIATE_TEST_SUITE_P(Threads, Messages, ::testing::Values(0, 1),
                         [](const auto& chosen) {
                           return chosen.param == 0 ? "OnOneNode" : "OnTwo";
                         });

TEST_P(Messages, FailWithTheRankThatShutsDown) {
  run_world(two(), [](Runtime& job, LoopbackWorld&) {
    float value = 1;
    const auto view = TensorView::of(&value, {});
    if (job.topology().rank() == 0) {
      const Future<void> send = job.send_async(view, 1, {.tag = 3});
      const Future<int> receive = job.receive_async(view, 1, {.tag = 4});
      const absl::Status sent = send.wait();
      const absl::Status received = receive.wait().status();
      EXPECT_TRUE(absl::IsCancelled(sent)) << sent;
      EXPECT_TRUE(absl::IsCancelled(received)) << received;
      EXPECT_THAT(suite::text_of(sent), HasSubstr("shut down while rank 0"));
      EXPECT_THAT(suite::text_of(received),
                  HasSubstr("a message with tag 4 from rank 1"));
      // Later ones, too.
      EXPECT_TRUE(
          absl::IsCancelled(job.receive_async(view, 1).wait().status()));
    }
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

// The receiver leaves at once, while its confirmation is under way.
TEST_P(Messages, ThatWereReceivedAreSentAlthoughTheReceiverLeaves) {
  for (int i = 0; i < 50; ++i) {
    run_world(two(), [](Runtime& job, LoopbackWorld&) {
      float value = 1;
      const auto view = TensorView::of(&value, {});
      if (job.topology().rank() == 0) {
        EXPECT_EQ(job.receive_async(view, 1).wait().status(), absl::OkStatus());
      } else {
        EXPECT_EQ(job.send_async(view, 0).wait(), absl::OkStatus());
      }
      EXPECT_EQ(job.stop(), absl::OkStatus());
    });
  }
}

TEST_P(Messages, FailWithTheReasonOfABreak) {
  run_world(two(), [](Runtime& job, LoopbackWorld&) {
    std::vector<float> values(1000000);
    const auto view = TensorView::of(values.data(), {std::int64_t{1000000}});
    if (job.topology().rank() == 1) return job.abort("gives up");
    const Future<void> send = job.send_async(view, 1);
    const absl::Status received = job.receive_async(view, 1).wait().status();
    EXPECT_TRUE(absl::IsAborted(received)) << received;
    EXPECT_THAT(suite::text_of(received), HasSubstr("gives up"));
    EXPECT_TRUE(absl::IsAborted(send.wait())) << send.wait();
  });
}

TEST_P(Messages, AreNamedWhereTheyStall) {
  WorldOptions options = two();
  options.config.stall_warning_time = std::chrono::milliseconds(20);
  options.config.stall_shutdown_time = std::chrono::milliseconds(100);
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    float value = 1;
    const auto view = TensorView::of(&value, {});
    absl::Status status;
    if (job.topology().rank() == 1) {
      status = job.send_async(view, 0, {.tag = 3}).wait();
    } else {
      while (status.ok()) status = job.status();
    }
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(suite::text_of(status),
                AllOf(HasSubstr("rank 1 waits"), HasSubstr("with tag 3")));
  });
}

TEST_P(Messages, AreAwaitedBeyondTheLimitOfStalls) {
  WorldOptions options = two();
  options.config.stall_warning_time = std::chrono::milliseconds(5);
  options.config.stall_shutdown_time = std::chrono::milliseconds(20);
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    float value = 1;
    const auto view = TensorView::of(&value, {});
    if (job.topology().rank() == 1) {
      EXPECT_EQ(job.receive_async(view, 0).wait().status(), absl::OkStatus());
      return;
    }
    const auto limit_has_passed =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < limit_has_passed) {
      ASSERT_EQ(job.status(), absl::OkStatus());
    }
    EXPECT_EQ(job.send_async(view, 1).wait(), absl::OkStatus());
  });
}

TEST_P(Messages, FailWithTheRemovalOfTheirProcessSet) {
  run_world(two(), [](Runtime& job, LoopbackWorld&) {
    const ProcessSet set = *job.new_process_set_async({0, 1}, "x").wait();
    float value = 1;
    const auto view = TensorView::of(&value, {});
    const int other = 1 - job.topology().rank();
    const Future<int> receive =
        job.receive_async(view, other, {.process_set = set});
    EXPECT_EQ(job.free_process_set_async(set).wait(), absl::OkStatus());
    const absl::Status status = receive.wait().status();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
    EXPECT_EQ(job.barrier(), absl::OkStatus());
  });
}

}  // namespace
}  // namespace hvd
