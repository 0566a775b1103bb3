// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class GraphsOfCuda : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 100;
  static constexpr std::size_t kBytes = kCount * sizeof(int);
  static constexpr int kGlobalMode = 0;

  GraphsOfCuda() { testing::TestGpus::set_delay(200); }

  CudaStream stream() { return CudaStream::create(context_).value(); }
  std::shared_ptr<std::byte> memory() {
    return allocate_on(context_, kBytes).value();
  }
  void put(CudaStream& into, const std::shared_ptr<std::byte>& to, int value) {
    const std::vector<int> values(kCount, value);
    ASSERT_TRUE(into.copy(to.get(), values.data(), kBytes).ok());
    ASSERT_TRUE(into.synchronize().ok());
  }
  std::vector<int> get(CudaStream& from, const std::shared_ptr<std::byte>& at) {
    std::vector<int> values(kCount, -1);
    EXPECT_TRUE(from.copy(values.data(), at.get(), kBytes).ok());
    EXPECT_TRUE(from.synchronize().ok());
    return values;
  }
  static CudaEvent point_in(const CudaStream& stream) {
    return CudaEvent::after(stream.context(), stream.handle()).value();
  }

  const std::unique_ptr<CudaDriver> cuda_ =
      CudaDriver::load(testing::TestGpus::cuda_library()).value();
  const CudaContext context_ = cuda_->context(0).value();
};

TEST_F(GraphsOfCuda, RepeatTheRecordedWork) {
  CudaStream mine = stream();
  const auto a = memory();
  const auto b = memory();
  put(mine, b, 0);
  ASSERT_TRUE(CudaGraph::begin(context_, mine.handle()).ok());
  EXPECT_TRUE(is_captured(context_, mine.handle()).value());
  ASSERT_TRUE(mine.copy(b.get(), a.get(), kBytes).ok());
  const auto graph = CudaGraph::end(context_, mine.handle());
  ASSERT_EQ(graph.status(), absl::OkStatus());
  EXPECT_FALSE(is_captured(context_, mine.handle()).value());
  EXPECT_FALSE(is_captured(context_, nullptr).value());
  EXPECT_THAT(get(mine, b), Each(0));
  for (const int value : {3, 4, 5}) {
    put(mine, a, value);
    ASSERT_EQ((*graph)->launch(mine), absl::OkStatus());
    EXPECT_THAT(get(mine, b), Each(value));
  }
}

// A stream joins the capture when it waits for a captured event.
TEST_F(GraphsOfCuda, HaveTheOrderOfTheEventsBetweenStreams) {
  CudaStream mine = stream();
  CudaStream other = stream();
  const auto a = memory();
  const auto b = memory();
  const auto c = memory();
  ASSERT_TRUE(CudaGraph::begin(context_, mine.handle()).ok());
  ASSERT_TRUE(mine.copy(b.get(), a.get(), kBytes).ok());
  ASSERT_TRUE(other.wait_for(point_in(mine)).ok());
  ASSERT_TRUE(other.copy(c.get(), b.get(), kBytes).ok());
  ASSERT_TRUE(mine.wait_for(point_in(other)).ok());
  ASSERT_TRUE(mine.copy(a.get(), c.get(), kBytes).ok());
  const auto graph = CudaGraph::end(context_, mine.handle());
  ASSERT_EQ(graph.status(), absl::OkStatus());
  for (int value = 1; value < 20; ++value) {
    put(other, a, value);
    ASSERT_EQ((*graph)->launch(other), absl::OkStatus());
    ASSERT_THAT(get(other, c), Each(value));
  }
}

TEST_F(GraphsOfCuda, AreRefusedIfAStreamWasLeftBehind) {
  CudaStream mine = stream();
  CudaStream other = stream();
  const auto a = memory();
  const auto b = memory();
  ASSERT_TRUE(CudaGraph::begin(context_, mine.handle()).ok());
  ASSERT_TRUE(other.wait_for(point_in(mine)).ok());
  ASSERT_TRUE(other.copy(b.get(), a.get(), kBytes).ok());
  const auto graph = CudaGraph::end(context_, mine.handle());
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("UNJOINED"));
}

// As from the thread that watches NCCL while the program captures.
TEST_F(GraphsOfCuda, AllowQueriesOfEventsAndAllocationsMeanwhile) {
  CudaStream mine = stream();
  CudaStream other = stream();
  const CudaEvent before = point_in(other);
  ASSERT_EQ(context_.api->cuStreamBeginCapture_v2(mine.handle(), kGlobalMode),
            kCuSuccess);
  std::thread([&] {
    EXPECT_EQ(before.wait(), absl::OkStatus());
    EXPECT_TRUE(before.has_completed().value());
    EXPECT_NE(memory(), nullptr);
  }).join();
  EXPECT_TRUE(before.has_completed().value());
  const auto graph = CudaGraph::end(context_, mine.handle());
  EXPECT_EQ(graph.status(), absl::OkStatus());
}

// A stream like cudaStreamCreate()'s. An event in the legacy default stream
// would invalidate the capture.
TEST_F(GraphsOfCuda, AreNotDisturbedByTheLegacyDefaultStream) {
  const CudaEvent before = CudaEvent::after(context_, nullptr).value();
  const CurrentContext current(context_);
  CuStream ordered = nullptr;
  ASSERT_EQ(context_.api->cuStreamCreateWithPriority(&ordered, 0, 0),
            kCuSuccess);
  ASSERT_EQ(CudaGraph::begin(context_, ordered), absl::OkStatus());
  EXPECT_FALSE(is_captured(context_, nullptr).value());
  std::thread([&] {
    const auto event = CudaEvent::after(context_, nullptr);
    EXPECT_TRUE(absl::IsFailedPrecondition(event.status())) << event.status();
    EXPECT_TRUE(absl::IsFailedPrecondition(before.hold_up(nullptr)));
  }).join();
  EXPECT_EQ(CudaGraph::end(context_, ordered).status(), absl::OkStatus());
  EXPECT_EQ(CudaEvent::after(context_, nullptr).status(), absl::OkStatus());
  EXPECT_EQ(context_.api->cuStreamDestroy_v2(ordered), kCuSuccess);
}

TEST_F(GraphsOfCuda, FinishStartedWorkWhenDropped) {
  ASSERT_TRUE(testing::TestGpus::settle(*cuda_));
  const std::size_t before = testing::TestGpus::objects();
  {
    CudaStream mine = stream();
    const auto a = memory();
    const auto b = memory();
    put(mine, a, 7);
    ASSERT_TRUE(CudaGraph::begin(context_, mine.handle()).ok());
    ASSERT_TRUE(mine.copy(b.get(), a.get(), kBytes).ok());
    const auto graph = CudaGraph::end(context_, mine.handle());
    ASSERT_EQ(graph.status(), absl::OkStatus());
    ASSERT_EQ((*graph)->launch(mine), absl::OkStatus());
    CudaGraphs graphs;
    graphs.add(*graph);
    graphs.drop_all();
    EXPECT_TRUE((*graph)->is_dropped());
    EXPECT_EQ((*graph)->launch(mine).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(get(mine, b), Each(7));
  }
  ASSERT_TRUE(testing::TestGpus::settle(*cuda_));
  EXPECT_EQ(testing::TestGpus::objects(), before);
}

}  // namespace
}  // namespace hvd::device
