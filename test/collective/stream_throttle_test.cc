// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/stream_throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "test/support/fake_cuda/fake_cuda.h"

namespace hvd::collective {
namespace {

class StreamThrottleTest : public ::testing::Test {
 protected:
  ~StreamThrottleTest() override {
    finish_work();
    EXPECT_EQ(stream_.synchronize(), absl::OkStatus());
  }

  void put() {
    testing::FakeCuda::put(
        stream_.handle(),
        [](void* done) {
          ++*static_cast<std::atomic<int>*>(done);
          return 0;
        },
        &done_);
  }
  void hang() {
    testing::FakeCuda::put(
        stream_.handle(),
        [](void* over) {
          static_cast<std::atomic<bool>*>(over)->wait(false);
          return 0;
        },
        &is_over_);
  }
  void finish_work() {
    is_over_ = true;
    is_over_.notify_all();
  }

  std::atomic<bool> is_over_{false};
  std::atomic<int> done_{0};
  const std::unique_ptr<device::CudaDriver> cuda_ =
      device::CudaDriver::load(testing::FakeCuda::file()).value();
  const device::CudaContext context_ = cuda_->context(0).value();
  device::CudaStream stream_ = device::CudaStream::create(context_).value();
  StreamThrottle throttle_;
};

// Four streams may share one driver queue, which holds about a thousand
// operations.
TEST_F(StreamThrottleTest, WaitsBeforeTheStreamIsFull) {
  hang();
  const absl::Status full = absl::UnavailableError("full");
  absl::Status status;
  int put_before = 0;
  while (status.ok()) {
    status = throttle_.make(stream_, 1, [&](const auto&) { return full; });
    if (!status.ok()) break;
    put();
    ++put_before;
  }
  EXPECT_EQ(status, full);
  EXPECT_GE(put_before, 128);
  EXPECT_LT(4 * (put_before + static_cast<int>(StreamThrottle::kMaxSegments)),
            1100);
}

TEST_F(StreamThrottleTest, WaitsForTheOldestOnly) {
  constexpr int kAll = 3000;
  int waits = 0;
  for (int i = 0; i < kAll; ++i) {
    ASSERT_EQ(throttle_.make(stream_, 1,
                             [&](const device::CudaEvent& event) {
                               ++waits;
                               const absl::Status status = event.wait();
                               // The work that was queued before the event is
                               // done.
                               EXPECT_GE(done_,
                                         waits * StreamThrottle::kSegment);
                               return status;
                             }),
              absl::OkStatus());
    put();
  }
  EXPECT_GT(waits, 0);
  EXPECT_LT(waits, kAll / static_cast<int>(StreamThrottle::kSegment));
}

}  // namespace
}  // namespace hvd::collective
