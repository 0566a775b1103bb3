// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "horovodpp/device/cuda_memory.h"
#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

class CudaStreams : public ::testing::Test {
 protected:
  std::shared_ptr<std::byte> allocate(std::size_t bytes) {
    auto memory = allocate_on(context_, bytes);
    EXPECT_TRUE(memory.ok()) << memory.status();
    return *memory;
  }

  const std::unique_ptr<CudaDriver> cuda_ =
      CudaDriver::load(testing::TestGpus::cuda_library()).value();
  const CudaContext context_ = cuda_->context(0).value();
  CudaStream stream_ = CudaStream::create(context_).value();
};

TEST_F(CudaStreams, CopyThereAndBackInOrder) {
  const std::vector<int> sent = {1, 2, 3, 4};
  std::vector<int> received(4);
  const std::size_t bytes = sent.size() * sizeof(int);
  const auto gpu = allocate(bytes);
  ASSERT_TRUE(stream_.copy(gpu.get(), sent.data(), bytes).ok());
  ASSERT_TRUE(stream_.copy(received.data(), gpu.get(), bytes).ok());
  ASSERT_TRUE(stream_.synchronize().ok());
  EXPECT_EQ(received, sent);
}

// The fake driver delays work: without the event, the second stream would copy
// zeros.
TEST_F(CudaStreams, WaitForWorkOfOtherStreams) {
  CudaStream other = CudaStream::create(context_).value();
  const auto gpu = allocate(sizeof(int));
  for (int i = 1; i <= 20; ++i) {
    int received = 0;
    ASSERT_TRUE(stream_.copy(gpu.get(), &i, sizeof(i)).ok());
    const auto written = CudaEvent::after(context_, stream_.handle());
    ASSERT_TRUE(written.ok()) << written.status();
    ASSERT_TRUE(other.wait_for(*written).ok());
    ASSERT_TRUE(other.copy(&received, gpu.get(), sizeof(i)).ok());
    ASSERT_TRUE(other.synchronize().ok());
    EXPECT_EQ(received, i);
    EXPECT_TRUE(written->has_completed().value());
  }
}

TEST_F(CudaStreams, LetAThreadWaitForAnEvent) {
  const auto gpu = allocate(sizeof(int));
  const int sent = 7;
  int received = 0;
  ASSERT_TRUE(stream_.copy(gpu.get(), &sent, sizeof(sent)).ok());
  ASSERT_TRUE(stream_.copy(&received, gpu.get(), sizeof(sent)).ok());
  ASSERT_TRUE(CudaEvent::after(context_, stream_.handle())->wait().ok());
  EXPECT_EQ(received, 7);
}

TEST_F(CudaStreams, ReportErrorsWhenSynchronized) {
  HVD_NEEDS_STAND_INS();
  testing::FakeCuda::fail_next("cuMemcpyAsync", 700);
  int from = 0;
  int to = 0;
  ASSERT_TRUE(stream_.copy(&to, &from, sizeof(to)).ok());
  const absl::Status status = stream_.synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("ILLEGAL_ADDRESS"));
}

TEST_F(CudaStreams, ReportTheSizeAndGpuOfAFailedAllocation) {
  HVD_NEEDS_STAND_INS();
  testing::FakeCuda::run_out_of_memory();
  const auto memory = allocate_on(context_, 4096);
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(memory.status().message()),
              ::testing::HasSubstr("4096 bytes on GPU 0"));
}

TEST_F(CudaStreams, FreeTheirObjects) {
  HVD_NEEDS_STAND_INS();
  ASSERT_TRUE(testing::TestGpus::settle(*cuda_));
  const std::size_t before = testing::FakeCuda::objects();
  {
    CudaStream stream = CudaStream::create(context_).value();
    const CudaEvent event = CudaEvent::after(context_, stream.handle()).value();
    PinnedMemory pinned(context_);
    ASSERT_TRUE(pinned.at_least(100).ok());
    ASSERT_TRUE(pinned.at_least(1000).ok());
    allocate(64).reset();
    EXPECT_GT(testing::FakeCuda::objects(), before);
    ASSERT_TRUE(stream.synchronize().ok());
  }
  ASSERT_TRUE(testing::TestGpus::settle(*cuda_));
  EXPECT_EQ(testing::FakeCuda::objects(), before);
}

// Recording a reused event must not disturb a stream that waits for its earlier
// recording.
TEST_F(CudaStreams, TakeEventsThatAreNotInUseAgain) {
  HVD_NEEDS_STAND_INS();
  const auto make = [&] {
    return CudaEvent::after(context_, stream_.handle()).value();
  };
  static_cast<void>(make());
  const std::size_t before = testing::FakeCuda::calls("cuEventCreate");
  CudaStream other = CudaStream::create(context_).value();
  const auto gpu = allocate(sizeof(int));
  for (int i = 1; i <= 20; ++i) {
    int received = 0;
    ASSERT_TRUE(stream_.copy(gpu.get(), &i, sizeof(i)).ok());
    ASSERT_TRUE(other.wait_for(make()).ok());
    static_cast<void>(make());
    ASSERT_TRUE(other.copy(&received, gpu.get(), sizeof(i)).ok());
    EXPECT_EQ(received, i);
  }
  EXPECT_EQ(testing::FakeCuda::calls("cuEventCreate"), before);
}

TEST_F(CudaStreams, KeepPinnedMemoryThatIsLongEnough) {
  PinnedMemory pinned(context_);
  std::byte* const first = pinned.at_least(1000).value();
  EXPECT_EQ(pinned.at_least(10).value(), first);
}

TEST_F(CudaStreams, ReportTheSizeOfAFailedPin) {
  HVD_NEEDS_STAND_INS();
  testing::FakeCuda::fail_next("cuMemHostAlloc", 2);
  PinnedMemory pinned(context_);
  const auto place = pinned.at_least(512);
  EXPECT_EQ(place.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(place.status().message()),
              ::testing::HasSubstr("512 bytes of pinned memory"));
}

}  // namespace
}  // namespace hvd::device
