// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/gpu_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "test/collective/fleets.h"
#include "test/support/fake_cuda/fake_cuda.h"

namespace hvd::collective {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class GpuWaitTest : public ::testing::Test {
 protected:
  ~GpuWaitTest() override { finish_work(); }

  // Blocks the stream from now on.
  void hang(device::CudaStream& stream) {
    testing::FakeCuda::put(
        stream.handle(),
        [](void* over) {
          static_cast<std::atomic<bool>*>(over)->wait(false);
          return 0;
        },
        &is_over_);
  }
  void finish_work() {
    is_over_ = true;
    is_over_.notify_all();
    EXPECT_EQ(own_.synchronize(), absl::OkStatus());
    EXPECT_EQ(stream_.synchronize(), absl::OkStatus());
  }

  std::atomic<bool> is_over_{false};
  const std::unique_ptr<device::CudaDriver> cuda_ =
      device::CudaDriver::load(testing::FakeCuda::file()).value();
  const device::CudaContext context_ = cuda_->context(0).value();
  device::CudaStream own_ = device::CudaStream::create(context_).value();
  device::CudaStream stream_ = device::CudaStream::create(context_).value();
  NeverInterrupt never_;
  std::vector<std::string> warnings_;
  // Short timeouts, so that the test is fast.
  const GpuTimeouts short_ = {
      .warning = milliseconds(1),
      .shutdown = milliseconds(50),
      .warn = [this](const std::string& text) { warnings_.push_back(text); }};
};

TEST_F(GpuWaitTest, NamesARankWhoseStreamHasNotReachedTheCall) {
  hang(own_);
  const auto follows =
      device::CudaEvent::after(context_, own_.handle()).value();
  const device::CudaEvent* const after[] = {&follows};
  ASSERT_EQ(stream_.wait_for(follows), absl::OkStatus());
  const Call call = {.tag = {}, .interrupt = never_, .after = after};
  // Long enough for at least one check between the warning and the shutdown,
  // also on a busy machine.
  GpuTimeouts timeouts = short_;
  timeouts.shutdown = milliseconds(1000);
  GpuWait wait(timeouts, call, "an allreduce", GpuWait::For::kOtherRanks);
  const absl::Status status = wait.until_end_of(stream_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      MatchesRegex("has not started an allreduce on its GPU for [0-9]+ "
                   "s, because earlier work in its stream has not ended"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("this rank has not started")));
}

TEST_F(GpuWaitTest, SaysThatThisRankHasReachedTheCall) {
  const auto follows =
      device::CudaEvent::after(context_, own_.handle()).value();
  ASSERT_EQ(own_.synchronize(), absl::OkStatus());
  hang(stream_);
  const device::CudaEvent* const after[] = {&follows};
  const Call call = {.tag = {}, .interrupt = never_, .after = after};
  GpuWait wait(short_, call, "an allreduce", GpuWait::For::kOtherRanks);
  EXPECT_THAT(
      std::string(wait.until_end_of(stream_).message()),
      HasSubstr("for an allreduce, which hangs on this or another rank"));
}

TEST_F(GpuWaitTest, EndsByTheInterruptUnlessThatGivesTheCallUp) {
  hang(stream_);
  const GpuTimeouts for_ever;
  FailingInterrupt fails(3);
  const Call failing = {.tag = {}, .interrupt = fails};
  EXPECT_EQ(GpuWait(for_ever, failing, "x", GpuWait::For::kItsOwnWork)
                .until_end_of(stream_)
                .message(),
            "rank 7 was killed by signal 9");
  // Only a wait for other ranks can be abandoned.
  FailingInterrupt gives_up(0, absl::CancelledError("given up"));
  const Call given_up = {.tag = {}, .interrupt = gives_up};
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      GpuWait(short_, given_up, "x", GpuWait::For::kItsOwnWork)
          .until_end_of(stream_)));
}

TEST(GpuStall, TheRankThatDelaysTheOthersGivesUpFirst) {
  EXPECT_EQ(GpuStall{}.timeout(std::chrono::seconds(600)),
            std::chrono::seconds(600));
  const GpuStall begun = {.has_begun = true, .is_alone = false};
  EXPECT_EQ(begun.timeout(std::chrono::seconds(600)),
            std::chrono::seconds(630));
  EXPECT_EQ(begun.timeout(std::chrono::seconds(4)), std::chrono::seconds(8));
  const GpuStall alone = {.has_begun = true, .is_alone = true};
  EXPECT_EQ(alone.timeout(std::chrono::seconds(4)), std::chrono::seconds(4));
}

}  // namespace
}  // namespace hvd::collective
