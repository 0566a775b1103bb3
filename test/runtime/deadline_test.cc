// SPDX-License-Identifier: Apache-2.0
// Waits with a deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "test/runtime/suite_support.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using transport::LoopbackWorld;

constexpr std::chrono::milliseconds kTooShort(20);

struct DeadlineWorld {
  int size;
  int ranks_per_node;
};

class Deadlines : public ::testing::TestWithParam<DeadlineWorld> {
 protected:
  WorldOptions options() const {
    return {.size = GetParam().size,
            .ranks_per_node = GetParam().ranks_per_node};
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, Deadlines,
                         ::testing::Values(DeadlineWorld{2, 0},
                                           DeadlineWorld{3, 0},
                                           DeadlineWorld{2, 1},
                                           DeadlineWorld{4, 2}),
                         [](const auto& chosen) {
                           return "On" + std::to_string(chosen.param.size) +
                                  "By" +
                                  std::to_string(chosen.param.ranks_per_node);
                         });

absl::Status timed_out(const Future<void>& operation) {
  const absl::Status status = operation.wait_within(kTooShort);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(suite::text_of(status), HasSubstr("Timed out after 0.02 s: "));
  return status;
}

// Rank 1 comes only after another rank has given up its wait.
void expect_to_name_rank_1(const WorldOptions& options, int steps_before,
                           const std::function<Future<void>(Runtime&)>& submit,
                           const std::string& name) {
  run_world(options, [&](Runtime& job, LoopbackWorld&) {
    for (int step = 0; step < steps_before; ++step) {
      ASSERT_EQ(submit(job).wait(), absl::OkStatus());
    }
    float token = 0;
    const auto view = TensorView::of(&token, {});
    const int rank = job.topology().rank();
    Future<void> operation;
    if (rank == 1) {
      EXPECT_EQ(suite::source_of(job.receive_async(view, 0).wait()), 0);
      operation = submit(job);
    } else {
      operation = submit(job);
    }
    if (rank == 0) {
      const std::string text = suite::text_of(timed_out(operation));
      EXPECT_THAT(text, AllOf(HasSubstr(name), HasSubstr("but not rank 1 (")));
      EXPECT_EQ(job.send_async(view, 1).wait(), absl::OkStatus());
    }
    // It is still in flight, and ends like any other.
    EXPECT_EQ(operation.wait_within(std::chrono::hours(1)), absl::OkStatus());
    EXPECT_EQ(job.barrier(), absl::OkStatus());
  });
}

TEST_P(Deadlines, NameTheRankThatANewOperationLacks) {
  static thread_local float value;
  expect_to_name_rank_1(
      options(), 0,
      [](Runtime& job) {
        return job.allreduce_async_(TensorView::of(&value, {}), {.name = "w"});
      },
      "allreduce 'w'");
}

// All ranks follow a cycle, so that the thread that waits is in the collective.
TEST_P(Deadlines, NameTheRankThatACycleLacks) {
  static thread_local float value;
  expect_to_name_rank_1(
      options(), 30,
      [](Runtime& job) {
        return job.allreduce_async_(TensorView::of(&value, {}), {.name = "w"});
      },
      "allreduce 'w'");
}

TEST_P(Deadlines, NameTheRankThatABarrierLacks) {
  expect_to_name_rank_1(
      options(), 0, [](Runtime& job) { return job.barrier_async(); },
      "barrier");
}

TEST_P(Deadlines, NameTheMemberThatDoesNotCreateItsSet) {
  run_world(options(), [&](Runtime& job, LoopbackWorld&) {
    float token = 0;
    const auto view = TensorView::of(&token, {});
    const int rank = job.topology().rank();
    if (rank == 0) {
      const auto set = job.new_process_set_async({0, 1}, "x");
      const auto status = set.wait_within(kTooShort).status();
      EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
      EXPECT_THAT(suite::text_of(status), AllOf(HasSubstr("new_process_set"),
                                                HasSubstr("but not rank 1 ("),
                                                Not(HasSubstr("rank 2"))));
      EXPECT_EQ(job.send_async(view, 1).wait(), absl::OkStatus());
      EXPECT_EQ(set.wait().status(), absl::OkStatus());
    }
    if (rank == 1) {
      EXPECT_EQ(suite::source_of(job.receive_async(view, 0).wait()), 0);
      EXPECT_EQ(job.new_process_set_async({0, 1}, "x").wait().status(),
                absl::OkStatus());
    }
    EXPECT_EQ(job.barrier(), absl::OkStatus());
  });
}

TEST_P(Deadlines, NameTheSenderOfAMessage) {
  run_world(options(), [&](Runtime& job, LoopbackWorld&) {
    float token = 0;
    float late = 7;
    const int rank = job.topology().rank();
    const auto token_view = TensorView::of(&token, {});
    const auto late_view = TensorView::of(&late, {});
    if (rank == 0) {
      const auto receive = job.receive_async(late_view, 1, {.tag = 3});
      const auto status = receive.wait_within(kTooShort).status();
      EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
      EXPECT_THAT(
          suite::text_of(status),
          HasSubstr("rank 0 waits for a message with tag 3 from rank 1"));
      EXPECT_EQ(job.send_async(token_view, 1).wait(), absl::OkStatus());
      EXPECT_EQ(suite::source_of(receive.wait()), 1);
    }
    if (rank == 1) {
      EXPECT_EQ(suite::source_of(job.receive_async(token_view, 0).wait()), 0);
      EXPECT_EQ(job.send_async(late_view, 0, {.tag = 3}).wait(),
                absl::OkStatus());
    }
    EXPECT_EQ(job.barrier(), absl::OkStatus());
  });
}

}  // namespace
}  // namespace hvd
