// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "horovodpp/device/cuda_ipc.h"
#include "horovodpp/device/gpus.h"
#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

using ::testing::HasSubstr;

class CudaMemory : public ::testing::Test {
 protected:
  const std::unique_ptr<CudaDriver> cuda_ =
      CudaDriver::load(testing::TestGpus::cuda_library()).value();
  const CudaContext context_ = cuda_->context(0).value();
  CudaStream stream_ = CudaStream::create(context_).value();
};

TEST_F(CudaMemory, IsAllocatedAndFreedInTheOrderOfAStream) {
  const auto pool = CudaPool::create(context_);
  ASSERT_TRUE(pool.ok()) << pool.status();
  const std::size_t before = testing::TestGpus::objects();
  for (int i = 1; i <= 20; ++i) {
    int received = 0;
    std::byte* const memory = (*pool)->allocate(stream_, sizeof(int)).value();
    ASSERT_TRUE(stream_.copy(memory, &i, sizeof(int)).ok());
    ASSERT_TRUE(stream_.copy(&received, memory, sizeof(int)).ok());
    ASSERT_EQ((*pool)->free(stream_, memory), absl::OkStatus());
    ASSERT_EQ(stream_.synchronize(), absl::OkStatus());
    EXPECT_EQ(received, i);
  }
  EXPECT_EQ(testing::TestGpus::objects(), before);
}

TEST_F(CudaMemory, OfAPoolMayRunOut) {
  HVD_NEEDS_STAND_INS();
  const auto pool = CudaPool::create(context_);
  ASSERT_TRUE(pool.ok()) << pool.status();
  testing::FakeCuda::fail_next("cuMemAllocFromPoolAsync", 2);
  const auto memory = (*pool)->allocate(stream_, 4096);
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(memory.status().message()),
              HasSubstr("4096 bytes on GPU 0"));
  testing::FakeCuda::fail_next("cuMemPoolCreate", 801);
  EXPECT_EQ(CudaPool::create(context_).status().code(),
            absl::StatusCode::kInternal);
}

// Result memory is freed after the work of every stream. Memory of a pool would
// be freed at once and reused.
TEST_F(CudaMemory, ForResultsIsFreedAfterItsLastUse) {
  HVD_NEEDS_STAND_INS();
  Gpus gpus(testing::TestGpus::cuda_library());
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> is_done{false};
    {
      const auto memory = gpus.allocate(0, sizeof(int));
      ASSERT_TRUE(memory.ok()) << memory.status();
      ASSERT_TRUE(stream_.copy(memory->get(), &i, sizeof(int)).ok());
      testing::FakeCuda::put(
          stream_.handle(),
          [](void* done) {
            *static_cast<std::atomic<bool>*>(done) = true;
            return 0;
          },
          &is_done);
    }
    ASSERT_TRUE(testing::TestGpus::settle(*gpus.driver().value()));
    EXPECT_TRUE(is_done);
  }
  EXPECT_EQ(stream_.synchronize(), absl::OkStatus());
  EXPECT_EQ(gpus.allocate(0, 0).value(), nullptr);
  testing::FakeCuda::run_out_of_memory();
  EXPECT_EQ(gpus.allocate(0, 64).status().code(),
            absl::StatusCode::kResourceExhausted);
}

// Blocks a stream until a test opens it, or for ten seconds: long enough for an
// owner that waits for the stream.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;

  static int work(void* gate) {
    auto& mine = *static_cast<Gate*>(gate);
    std::unique_lock lock(mine.mutex);
    mine.changed.wait_for(lock, std::chrono::seconds(10),
                          [&] { return mine.is_open; });
    mine.is_open = true;
    return 0;
  }
  // Returns whether the gate was closed.
  bool open() {
    const std::lock_guard lock(mutex);
    changed.notify_all();
    return !std::exchange(is_open, true);
  }
};

TEST_F(CudaMemory, IsFreedWithoutAWaitForTheGpu) {
  HVD_NEEDS_STAND_INS();
  alignas(4096) static std::byte of_program[4096];
  Gate gate;
  {
    const auto result = allocate_on(context_, 64).value();
    PinnedMemory pinned(context_);
    ASSERT_TRUE(pinned.at_least(64).ok());
    const auto range = PinnedRange::pin(
        context_, std::shared_ptr<void>(std::shared_ptr<void>(), of_program),
        sizeof(of_program));
    ASSERT_TRUE(range.ok()) << range.status();
    testing::FakeCuda::put(stream_.handle(), Gate::work, &gate);
    ASSERT_TRUE(pinned.at_least(1000).ok());  // Must grow.
  }
  EXPECT_TRUE(gate.open());
  EXPECT_TRUE(testing::TestGpus::settle(*cuda_));
}

TEST_F(CudaMemory, RunsOutOnlyAfterPendingFrees) {
  HVD_NEEDS_STAND_INS();
  allocate_on(context_, 64).value().reset();
  testing::FakeCuda::fail_next("cuMemAlloc_v2", 2);
  EXPECT_TRUE(allocate_on(context_, 64).ok());
}

TEST_F(CudaMemory, OfTheHostIsPinnedForAWhile) {
  HVD_NEEDS_STAND_INS();
  const std::size_t before = testing::TestGpus::objects();
  const std::shared_ptr<std::byte[]> memory(new std::byte[4096]);
  {
    const auto pinned = PinnedRange::pin(context_, memory, 4096);
    ASSERT_TRUE(pinned.ok()) << pinned.status();
    EXPECT_GT(testing::TestGpus::objects(), before);
    // Memory cannot be pinned twice.
    EXPECT_EQ(PinnedRange::pin(context_, memory, 4096).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE(testing::TestGpus::settle(*cuda_));
  EXPECT_EQ(memory.use_count(), 1);
  EXPECT_EQ(testing::TestGpus::objects(), before);
}

TEST_F(CudaMemory, IsNotOpenedByItsOwner) {
  const std::size_t before = testing::TestGpus::objects();
  {
    const auto memory = IpcMemory::allocate(context_, 64);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(IpcMemory::open(context_, memory->ticket()).status().code(),
              absl::StatusCode::kInternal);
    const auto event = IpcEvent::create(context_);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(IpcEvent::open(context_, event->ticket()).status().code(),
              absl::StatusCode::kInternal);
  }
  EXPECT_EQ(testing::TestGpus::objects(), before);
}

TEST_F(CudaMemory, ThatOthersMayOpenMayRunOut) {
  HVD_NEEDS_STAND_INS();
  testing::FakeCuda::run_out_of_memory();
  EXPECT_EQ(IpcMemory::allocate(context_, 64).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(CudaMemory, EventsHoldOtherStreamsUntilTheirLastRecording) {
  CudaStream other = CudaStream::create(context_).value();
  IpcEvent event = IpcEvent::create(context_).value();
  const auto gpu = allocate_on(context_, sizeof(int)).value();
  for (int i = 1; i <= 20; ++i) {
    int received = 0;
    ASSERT_TRUE(stream_.copy(gpu.get(), &i, sizeof(i)).ok());
    ASSERT_EQ(event.record(stream_), absl::OkStatus());
    ASSERT_EQ(other.wait_for(event.handle()), absl::OkStatus());
    ASSERT_TRUE(other.copy(&received, gpu.get(), sizeof(i)).ok());
    ASSERT_EQ(other.synchronize(), absl::OkStatus());
    EXPECT_EQ(received, i);
  }
}

TEST_F(CudaMemory, OfAPeerIsReachedOnceThatIsAllowed) {
  HVD_NEEDS_GPUS(2);
  const CudaContext peer = cuda_->context(1).value();
  EXPECT_EQ(enable_peer_access(context_, context_), absl::OkStatus());
  EXPECT_EQ(enable_peer_access(context_, peer), absl::OkStatus());
  EXPECT_EQ(enable_peer_access(context_, peer), absl::OkStatus());
  setenv("FAKE_CUDA_NO_PEERS", "1", 1);
  const absl::Status apart = enable_peer_access(context_, peer);
  unsetenv("FAKE_CUDA_NO_PEERS");
  EXPECT_EQ(apart.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(apart.message()),
              HasSubstr("GPU 0 cannot access the memory of GPU 1"));
}

}  // namespace
}  // namespace hvd::device
