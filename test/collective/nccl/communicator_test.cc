// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/nccl/memory.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"
#include "test/support/fake_cuda/fake_cuda.h"
#include "test/support/fake_nccl/fake_nccl.h"

namespace hvd::collective {
namespace {

class NcclCommunicatorTest : public ::testing::Test {
 protected:
  NcclCommunicatorTest() {
    NcclUniqueId id = {};
    EXPECT_EQ(nccl_.ncclGetUniqueId(&id), kNcclSuccess);
    communicator_ =
        NcclCommunicator::begin(nccl_, id, {.gpu = gpu_, .graphs = graphs_})
            .value();
    await();
  }
  // Waits until the pending NCCL call is done.
  void await() {
    while (!communicator_->is_ready().value()) std::this_thread::yield();
  }
  void deregister() {
    while (communicator_->has_windows()) {
      ASSERT_EQ(communicator_->deregister_windows(), absl::OkStatus());
      await();
    }
  }
  static NcclCommunicator::TimePoint soon() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(20);
  }
  std::shared_ptr<device::CudaGraph> capture() {
    EXPECT_TRUE(device::CudaGraph::begin(gpu_, stream_.handle()).ok());
    auto graph = device::CudaGraph::end(gpu_, stream_.handle()).value();
    graphs_->add(graph);
    return graph;
  }

  const std::unique_ptr<device::CudaDriver> cuda_ =
      device::CudaDriver::load(testing::FakeCuda::file()).value();
  const device::CudaContext gpu_ = cuda_->context(0).value();
  device::CudaStream stream_ = device::CudaStream::create(gpu_).value();
  NcclLibrary library_{testing::FakeNccl::file()};
  const NcclApi& nccl_ = *library_.api().value();
  const std::shared_ptr<device::CudaGraphs> graphs_ =
      std::make_shared<device::CudaGraphs>();
  std::shared_ptr<NcclCommunicator> communicator_;
};

// The communicator ends some time after it is left, on another thread. A step
// may be captured anew in between.
TEST_F(NcclCommunicatorTest, KeepsGraphsCapturedAfterItWasLeft) {
  const auto before = capture();
  communicator_->drop_graphs();
  EXPECT_TRUE(before->is_dropped());
  const auto after = capture();
  ASSERT_TRUE(communicator_->finalize().ok());
  await();
  communicator_->destroy();
  EXPECT_FALSE(after->is_dropped());
}

TEST_F(NcclCommunicatorTest, DropsCapturedGraphsWhenItEnds) {
  const auto before = capture();
  communicator_->abort();
  EXPECT_TRUE(before->is_dropped());
}

TEST_F(NcclCommunicatorTest, KeepsRegisteredMemoryUntilItEnds) {
  NcclArena arena;
  auto memory = arena.allocate(nccl_, gpu_, 5000).value();
  ASSERT_TRUE(communicator_->register_windows(arena.blocks_on(0)).ok());
  await();
  EXPECT_TRUE(communicator_->has_windows());
  EXPECT_EQ(testing::FakeNccl::windows(), 1u);
  memory = nullptr;
  EXPECT_EQ(arena.blocks_on(0).size(), 1u);
  deregister();
  EXPECT_EQ(testing::FakeNccl::windows(), 0u);
  ASSERT_TRUE(communicator_->finalize().ok());
  await();
  communicator_->destroy();
  communicator_ = nullptr;
  EXPECT_TRUE(arena.blocks_on(0).empty());
  EXPECT_EQ(testing::FakeNccl::objects(), 0u);
}

TEST_F(NcclCommunicatorTest, FreesItsMemoryWhenAborted) {
  NcclArena arena;
  ASSERT_TRUE(arena.allocate(nccl_, gpu_, 100).ok());
  EXPECT_TRUE(arena.blocks_on(0).empty());  // The memory is free.
  const auto memory = arena.allocate(nccl_, gpu_, 100).value();
  EXPECT_TRUE(arena.blocks_on(1).empty());  // Another GPU.
  ASSERT_TRUE(communicator_->register_windows(arena.blocks_on(0)).ok());
  communicator_->abort();
  EXPECT_TRUE(communicator_->await_end(soon()));
  EXPECT_EQ(testing::FakeNccl::windows(), 0u);
  EXPECT_EQ(memory.use_count(), 1);
}

// NCCL accepts no second call while one is in progress.
TEST_F(NcclCommunicatorTest, DeregistersOneWindowAfterTheOther) {
  NcclArena arena;
  std::vector<std::shared_ptr<std::byte>> memory;
  for (int i = 0; i < 3; ++i) {
    memory.push_back(arena.allocate(nccl_, gpu_, 100).value());
  }
  ASSERT_TRUE(communicator_->register_windows(arena.blocks_on(0)).ok());
  await();
  EXPECT_EQ(testing::FakeNccl::windows(), 3u);
  deregister();
  EXPECT_EQ(testing::FakeNccl::windows(), 0u);
}

// NCCL waits for the GPU, which may hang. The aborting thread must not wait.
TEST_F(NcclCommunicatorTest, IsAbortedWhileTheGpuHangs) {
  std::atomic<bool> is_over{false};
  testing::FakeCuda::put(
      stream_.handle(),
      [](void* over) {
        static_cast<std::atomic<bool>*>(over)->wait(false);
        return 0;
      },
      &is_over);
  communicator_->abort();
  EXPECT_TRUE(absl::IsAborted(communicator_->is_ready().status()));
  EXPECT_FALSE(communicator_->await_end(std::chrono::steady_clock::now()));
  is_over = true;
  is_over.notify_all();
  EXPECT_TRUE(communicator_->await_end(soon()));
}

}  // namespace
}  // namespace hvd::collective
