// SPDX-License-Identifier: Apache-2.0
// Behavior that the fake CUDA driver shares with the real one, where a program
// could rely on something else.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

class FakeCudaDriver : public ::testing::Test {
 protected:
  void SetUp() override { HVD_NEEDS_STAND_INS(); }
  ~FakeCudaDriver() override {
    open(gate_);
    EXPECT_TRUE(stream_.synchronize().ok());
  }

  static void open(std::atomic<bool>& gate) {
    gate = true;
    gate.notify_all();
  }
  // Blocks the stream until the gate is open.
  void close_gate() {
    testing::FakeCuda::put(
        stream_.handle(),
        [](void* gate) {
          static_cast<std::atomic<bool>*>(gate)->wait(false);
          return 0;
        },
        &gate_);
  }
  // The mark is set when the stream reaches it.
  void put_mark() {
    testing::FakeCuda::put(
        stream_.handle(),
        [](void* mark) {
          *static_cast<std::atomic<bool>*>(mark) = true;
          return 0;
        },
        &mark_);
  }
  std::shared_ptr<std::byte> allocate(std::size_t bytes) {
    return allocate_on(context_, bytes).value();
  }

  const std::unique_ptr<CudaDriver> cuda_ =
      CudaDriver::load(testing::FakeCuda::file()).value();
  const CudaContext context_ = cuda_->context(0).value();
  CudaStream stream_ = CudaStream::create(context_).value();
  std::atomic<bool> gate_{false};
  std::atomic<bool> mark_{false};
};

TEST_F(FakeCudaDriver, CopiesIntoPageableMemoryBeforeItReturns) {
  const auto gpu = allocate(sizeof(int));
  for (int i = 0; i < 20; ++i) {
    int received = -1;
    mark_ = false;
    ASSERT_TRUE(stream_.copy(gpu.get(), &i, sizeof(i)).ok());
    put_mark();
    ASSERT_TRUE(stream_.copy(&received, gpu.get(), sizeof(received)).ok());
    EXPECT_TRUE(mark_);
    EXPECT_EQ(received, i);
  }
}

TEST_F(FakeCudaDriver, PutsLittlePageableMemoryAside) {
  const auto gpu = allocate(sizeof(int));
  int sent = 7;
  int received = 0;
  close_gate();
  ASSERT_TRUE(stream_.copy(gpu.get(), &sent, sizeof(sent)).ok());
  sent = 8;
  open(gate_);
  ASSERT_TRUE(stream_.copy(&received, gpu.get(), sizeof(received)).ok());
  EXPECT_EQ(received, 7);
}

TEST_F(FakeCudaDriver, ReadsMuchPageableMemoryBeforeItReturns) {
  const std::vector<std::byte> sent((std::size_t{64} << 10) + 1);
  const auto gpu = allocate(sent.size());
  for (int i = 0; i < 20; ++i) {
    mark_ = false;
    put_mark();
    ASSERT_TRUE(stream_.copy(gpu.get(), sent.data(), sent.size()).ok());
    EXPECT_TRUE(mark_);
  }
}

TEST_F(FakeCudaDriver, CopiesBetweenMemoryOfTheHostBeforeItReturns) {
  const int sent = 7;
  for (int i = 0; i < 20; ++i) {
    int received = 0;
    ASSERT_TRUE(stream_.copy(&received, &sent, sizeof(sent)).ok());
    EXPECT_EQ(received, 7);
  }
}

// A blocking copy would hang this test.
TEST_F(FakeCudaDriver, DoesNotBlockForPinnedMemory) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const auto gpu = allocate(kBytes);
  PinnedMemory pinned(context_);
  std::byte* const host = pinned.at_least(kBytes).value();
  close_gate();
  ASSERT_TRUE(stream_.copy(gpu.get(), host, kBytes).ok());
  ASSERT_TRUE(stream_.copy(host, gpu.get(), kBytes).ok());
  open(gate_);
  EXPECT_TRUE(stream_.synchronize().ok());
}

TEST_F(FakeCudaDriver, WaitsForAllWorkBeforeItTakesPinnedMemoryBack) {
  for (int i = 0; i < 20; ++i) {
    mark_ = false;
    PinnedMemory pinned(context_);
    ASSERT_TRUE(pinned.at_least(64).ok());
    put_mark();
    ASSERT_TRUE(pinned.at_least(1024).ok());
    EXPECT_TRUE(testing::TestGpus::settle(*cuda_));
    EXPECT_TRUE(mark_);
  }
}

TEST_F(FakeCudaDriver, SharesNoPoolMemoryWithOtherProcesses) {
  const auto pool = CudaPool::create(context_);
  ASSERT_TRUE(pool.ok()) << pool.status();
  std::byte* const memory = (*pool)->allocate(stream_, 64).value();
  const CurrentContext current(context_);
  CuIpcHandle handle = {};
  constexpr CuResult kInvalidValue = 1;
  EXPECT_EQ(context_.api->cuIpcGetMemHandle(&handle,
                                            std::bit_cast<CuAddress>(memory)),
            kInvalidValue);
  EXPECT_TRUE((*pool)->free(stream_, memory).ok());
  EXPECT_TRUE(stream_.synchronize().ok());
}

TEST_F(FakeCudaDriver, KnowsAGpuOfPinnedMemoryToo) {
  PinnedMemory pinned(context_);
  int gpu = -1;
  int attributes[] = {kCuPointerDeviceOrdinal};
  void* values[] = {&gpu};
  ASSERT_EQ(context_.api->cuPointerGetAttributes(
                1, attributes, values,
                std::bit_cast<CuAddress>(pinned.at_least(64).value())),
            kCuSuccess);
  EXPECT_EQ(gpu, 0);
}

TEST_F(FakeCudaDriver, SpoilsACaptureByWorkInTheLegacyDefaultStream) {
  const CurrentContext current(context_);
  CuStream ordered = nullptr;
  ASSERT_EQ(context_.api->cuStreamCreateWithPriority(&ordered, 0, 0),
            kCuSuccess);
  ASSERT_EQ(
      context_.api->cuStreamBeginCapture_v2(ordered, kCuCaptureThreadLocal),
      kCuSuccess);
  int state = 0;
  EXPECT_EQ(context_.api->cuStreamIsCapturing(nullptr, &state),
            kCuCaptureImplicit);
  CuEvent event = nullptr;
  ASSERT_EQ(context_.api->cuEventCreate(&event, kCuEventDisableTiming),
            kCuSuccess);
  EXPECT_EQ(context_.api->cuEventRecord(event, nullptr), kCuCaptureImplicit);
  CuGraph graph = nullptr;
  EXPECT_NE(context_.api->cuStreamEndCapture(ordered, &graph), kCuSuccess);
  EXPECT_EQ(context_.api->cuEventDestroy_v2(event), kCuSuccess);
  EXPECT_EQ(context_.api->cuStreamDestroy_v2(ordered), kCuSuccess);
}

TEST_F(FakeCudaDriver, PinsEachPageOnce) {
  constexpr std::size_t kPage = 4096;
  alignas(kPage) static std::byte memory[2 * kPage];
  const auto at = [&](std::size_t offset) {
    return std::shared_ptr<void>(std::shared_ptr<void>(), memory + offset);
  };
  const auto first = PinnedRange::pin(context_, at(0), kPage + 64);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(PinnedRange::pin(context_, at(kPage + 128), 64).ok());
}

TEST_F(FakeCudaDriver, NeedsAContextToFree) {
  constexpr CuResult kInvalidContext = 201;
  EXPECT_EQ(context_.api->cuStreamDestroy_v2(stream_.handle()),
            kInvalidContext);
}

TEST_F(FakeCudaDriver, RunsKernelsInStreamsOfTheirGpu) {
  const auto kernels = CudaKernels::load(context_);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  CudaStream other = CudaStream::create(cuda_->context(1).value()).value();
  const auto from = allocate(64);
  const auto to = allocate(64);
  const CudaKernels::Piece piece = {
      .from = from.get(), .to = to.get(), .count = 64};
  EXPECT_TRUE((*kernels)->copy(stream_, std::span(&piece, 1)).ok());
  EXPECT_FALSE((*kernels)->copy(other, std::span(&piece, 1)).ok());
}

// A launch that waits would hang this test.
TEST_F(FakeCudaDriver, LaunchesLoadedKernelsWithoutAWait) {
  const CudaContext context = cuda_->context(3).value();
  CudaStream stream = CudaStream::create(context).value();
  const auto kernels = CudaKernels::load(context);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  const auto memory = allocate_on(context, 128).value();
  const CudaKernels::Piece piece = {
      .from = memory.get(), .to = memory.get() + 64, .count = 64};
  CudaStream busy = CudaStream::create(context).value();
  testing::FakeCuda::put(
      busy.handle(),
      [](void* gate) {
        static_cast<std::atomic<bool>*>(gate)->wait(false);
        return 0;
      },
      &gate_);
  ASSERT_TRUE((*kernels)->copy(stream, std::span(&piece, 1)).ok());
  ASSERT_TRUE(stream.synchronize().ok());
  open(gate_);
  EXPECT_TRUE(busy.synchronize().ok());
}

// The largest number of operations in the stream, as seen by the stream's work.
struct Load {
  std::atomic<int> put{0};
  std::atomic<int> done{0};
  std::atomic<int> most{0};

  static int work(void* load) {
    auto& mine = *static_cast<Load*>(load);
    mine.most = std::max(mine.most.load(), mine.put - mine.done);
    ++mine.done;
    return 0;
  }
};

TEST_F(FakeCudaDriver, BlocksAThreadThatFillsAStream) {
  constexpr int kLimit = 4;
  constexpr int kWork = 200;
  testing::FakeCuda::set_queue_limit(kLimit);
  close_gate();
  Load load;
  std::thread other([&] {
    for (int i = 0; i < kWork; ++i) {
      testing::FakeCuda::put(stream_.handle(), Load::work, &load);
      ++load.put;
    }
  });
  while (load.put < kLimit) std::this_thread::yield();
  open(gate_);
  other.join();
  EXPECT_TRUE(stream_.synchronize().ok());
  EXPECT_EQ(load.done, kWork);
  // Plus the operation that runs.
  EXPECT_LE(load.most, kLimit + 1);
  testing::FakeCuda::set_queue_limit(1000);
}

}  // namespace
}  // namespace hvd::device
