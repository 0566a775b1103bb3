// SPDX-License-Identifier: Apache-2.0
// Tensors in registered memory that NCCL allocated. They are not packed; if
// another rank's tensor lies elsewhere, the batch takes another path. The fake
// NCCL detects calls in which ranks differ, and does not free registered
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/runtime/arena_alloc.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/gpu/gpu_choice.h"
#include "test/device/gpu_program.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::Each;

constexpr std::size_t kBytesOfBlock = std::size_t{1} << 16;
constexpr std::int64_t kElementsOfEach = 64;  // Per small tensor.
constexpr int kTensorsInArena = 20;

// Two blocks of a rank, and tensors in these blocks.
class Blocks {
 public:
  Blocks(Runtime& job, GpuProgram& mine) : mine_(mine) {
    for (auto& block : blocks_) {
      block = job.allocate_on(Device::cuda(mine.gpu()), kBytesOfBlock).value();
    }
  }
  TensorView put(int block, std::size_t offset, const std::vector<float>& x) {
    sent_.push_back(std::make_unique<std::vector<float>>(x));
    const auto count = static_cast<std::int64_t>(x.size());
    TensorView view(static_cast<std::byte*>(blocks_[block].get()) + offset,
                    DType::kF32, Shape({count}), Device::cuda(mine_.gpu()));
    EXPECT_TRUE(mine_.own_stream()
                    .copy(view.data(), sent_.back()->data(), view.bytes())
                    .ok());
    return view;
  }
  std::vector<TensorView> put_many(std::size_t offset, float value) {
    std::vector<TensorView> views;
    for (int i = 0; i < kTensorsInArena; ++i) {
      views.push_back(
          put(0,
              offset +
                  static_cast<std::size_t>(i * kElementsOfEach) * sizeof(float),
              std::vector<float>(kElementsOfEach, value)));
    }
    return views;
  }

 private:
  GpuProgram& mine_;
  std::shared_ptr<void> blocks_[2];
  std::vector<std::unique_ptr<std::vector<float>>> sent_;
};

// Only the fake NCCL can list registrations.
class GpuArena : public ::testing::Test {
 protected:
  void SetUp() override { HVD_NEEDS_STAND_INS(); }
};

using ArenaBody = std::function<void(Runtime&, GpuProgram&, Blocks&)>;

// Also checks that no NCCL object or window is left.
void run_with_blocks(const WorldOptions& options, Way way,
                     const ArenaBody& body) {
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    GpuProgram program(job.topology().rank(), options.size, way);
    Blocks arena(job, program);
    body(job, program, arena);
    EXPECT_TRUE(program.own_stream().synchronize().ok());
  });
  EXPECT_EQ(testing::FakeNccl::objects(), 0);
  EXPECT_EQ(testing::FakeNccl::windows(), 0);
}

// In jobs of 1 to 4 ranks, and of 4 on two nodes.
void run_in_arenas(const ArenaBody& body) {
  const Config config = gpu_config(Way::kNccl);
  for (const int size : {1, 2, 3, 4}) {
    run_with_blocks({.size = size, .config = config}, Way::kNccl, body);
  }
  run_with_blocks({.size = 4, .ranks_per_node = 2, .config = config},
                  Way::kNccl, body);
}

Status sum(Runtime& job, GpuProgram& mine, const TensorView& x,
           const std::string& name) {
  return job
      .allreduce_async_(
          x, {.name = name, .op = ReduceOp::kSum, .stream = mine.stream()})
      .wait();
}

Status sum_all(Runtime& job, GpuProgram& mine,
               const std::vector<TensorView>& all) {
  return job
      .grouped_allreduce_async_(all, {.name = "all",
                                      .op = ReduceOp::kSum,
                                      .prescale_factor = 0.5,
                                      .stream = mine.stream()})
      .wait();
}

TEST_F(GpuArena, IsRegisteredAndNeedsNoPacking) {
  const std::size_t before = testing::FakeCuda::launches();
  run_in_arenas([](Runtime& job, GpuProgram& mine, Blocks& arena) {
    const float sum = 0.5f * static_cast<float>(mine.size());
    for (int step = 0; step < 5; ++step) {  // Enough for a cycle.
      const auto all = arena.put_many(64, 1);
      ASSERT_EQ(sum_all(job, mine, all), absl::OkStatus());
      for (const TensorView& x : all) EXPECT_THAT(mine.get(x), Each(sum));
    }
    EXPECT_GE(testing::FakeNccl::windows(), 2u);
  });
  EXPECT_EQ(testing::FakeCuda::launches(), before);
}

TEST_F(GpuArena, FallsBackIfLayoutsDiffer) {
  run_in_arenas([](Runtime& job, GpuProgram& mine, Blocks& arena) {
    const auto n = static_cast<float>(mine.size());
    const auto shift = static_cast<std::size_t>(mine.rank()) * 256;
    for (int step = 0; step < 5; ++step) {
      const auto all = arena.put_many(shift, 2);
      ASSERT_EQ(sum_all(job, mine, all), absl::OkStatus());
      for (const TensorView& x : all) EXPECT_THAT(mine.get(x), Each(n));
      // In a block on the first rank only.
      const std::vector<float> ones(1000, 1);
      const TensorView y =
          mine.rank() == 0 ? arena.put(1, 0, ones) : mine.put(ones);
      ASSERT_EQ(sum(job, mine, y, "y"), absl::OkStatus());
      EXPECT_THAT(mine.get(y), Each(n));
    }
  });
}

// At equal offsets on all ranks, and at offsets that differ by rank.
TEST_F(GpuArena, HasAllCollectives) {
  for (const std::size_t shift : {0, 256}) {
    run_in_arenas([&](Runtime& job, GpuProgram& mine, Blocks& arena) {
      const auto n = static_cast<std::size_t>(mine.size());
      const auto rank = static_cast<float>(mine.rank());
      const std::size_t offset = shift * static_cast<std::size_t>(mine.rank());
      const auto mine_in = [&] {
        return arena.put(0, offset, std::vector<float>(12 * n, rank));
      };
      const TensorView sent = mine_in();
      ASSERT_EQ(
          job.broadcast_async_(sent, mine.size() - 1,
                               {.name = "broadcast", .stream = mine.stream()})
              .wait(),
          absl::OkStatus());
      EXPECT_THAT(mine.get(sent), Each(static_cast<float>(n - 1)));
      const auto rows =
          job.allgather_async(mine_in(),
                              {.name = "allgather", .stream = mine.stream()})
              .wait();
      ASSERT_EQ(rows.status(), absl::OkStatus());
      const std::vector<float> gathered = mine.get(rows->view());
      ASSERT_EQ(gathered.size(), 12 * n * n);
      for (std::size_t i = 0; i < gathered.size(); ++i) {
        ASSERT_EQ(gathered[i], static_cast<float>(i / (12 * n)));
      }
      const auto part =
          job.reducescatter_async(mine_in(), {.name = "scatter",
                                              .op = ReduceOp::kMax,
                                              .stream = mine.stream()})
              .wait();
      ASSERT_EQ(part.status(), absl::OkStatus());
      EXPECT_THAT(mine.get(part->view()), Each(static_cast<float>(n - 1)));
      const auto exchanged =
          job.alltoall_async(mine_in(),
                             {.name = "alltoall", .stream = mine.stream()})
              .wait();
      ASSERT_EQ(exchanged.status(), absl::OkStatus());
      const std::vector<float> got = mine.get(exchanged->tensor.view());
      ASSERT_EQ(got.size(), 12 * n);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i], static_cast<float>(i / 12));
      }
    });
  }
}

// A communicator keeps the memory longer than the program.
TEST_F(GpuArena, IsFreedAfterItsLastRegistration) {
  constexpr int kRanks = 2;
  std::barrier all(kRanks);
  const Config config = gpu_config(Way::kNccl);
  run_world({.size = kRanks, .config = config},
            [&](Runtime& job, transport::LoopbackWorld&) {
              GpuProgram mine(job.topology().rank(), kRanks, Way::kNccl);
              {
                Blocks arena(job, mine);
                const TensorView x = arena.put(0, 0, {1, 2, 3});
                ASSERT_EQ(sum(job, mine, x, "x"), absl::OkStatus());
                EXPECT_THAT(mine.get(x), ::testing::ElementsAre(2, 4, 6));
              }
              all.arrive_and_wait();
              EXPECT_EQ(testing::FakeNccl::windows(), 2u * kRanks);
              EXPECT_EQ(testing::FakeNccl::objects(), 3u * kRanks);
              all.arrive_and_wait();
            });
  EXPECT_EQ(testing::FakeNccl::windows(), 0u);
  EXPECT_EQ(testing::FakeNccl::objects(), 0u);
}

TEST_F(GpuArena, GoesOnWithAReformedJob) {
  constexpr int kRanks = 3;
  const Config config = gpu_config(Way::kNccl);
  testing::FakeNccl::fault("async error", 1, 1);
  run_world({.size = kRanks, .config = config},
            [&](Runtime& job, transport::LoopbackWorld&) {
              GpuProgram mine(job.topology().rank(), kRanks, Way::kNccl);
              Blocks arena(job, mine);
              Status status;
              for (int step = 0; step < 20 && status.ok(); ++step) {
                status = sum(job, mine, arena.put(0, 0, {1, 2, 3}), "x");
              }
              EXPECT_TRUE(absl::IsAborted(status)) << status;
              testing::FakeNccl::fault("");
              const auto next = job.reform();
              ASSERT_EQ(next.status(), absl::OkStatus());
              const std::size_t before = testing::FakeNccl::windows();
              const TensorView x = arena.put(0, 0, {1, 2, 3});
              ASSERT_EQ(sum(**next, mine, x, "x"), absl::OkStatus());
              EXPECT_THAT(mine.get(x), ::testing::ElementsAre(3, 6, 9));
              EXPECT_GE(testing::FakeNccl::windows(), 2u) << before;
              EXPECT_EQ((*next)->stop(), absl::OkStatus());
            });
  EXPECT_EQ(testing::FakeNccl::objects(), 0u);
}

// Old versions register no windows, or allocate no memory. Without NCCL, CUDA
// allocates.
TEST_F(GpuArena, IsOrdinaryMemoryIfNcclLacksArenas) {
  const auto sums = [](Runtime& job, GpuProgram& mine, Blocks& arena) {
    const TensorView x = arena.put(0, 0, {1, 2});
    const auto n = static_cast<float>(mine.size());
    ASSERT_EQ(sum(job, mine, x, "x"), absl::OkStatus());
    EXPECT_THAT(mine.get(x), ::testing::ElementsAre(n, 2 * n));
    EXPECT_EQ(testing::FakeNccl::windows(), 0);
  };
  for (const char* const version : {"21803", "22602"}) {
    ::setenv("FAKE_NCCL_VERSION", version, 1);
    run_with_blocks({.size = 2, .config = gpu_config(Way::kNccl)}, Way::kNccl,
                    sums);
  }
  ::unsetenv("FAKE_NCCL_VERSION");
  run_with_blocks({.size = 2, .config = gpu_config(Way::kStaged)}, Way::kStaged,
                  sums);
}

TEST_F(GpuArena, IsThatOfTheJobOfThisProcess) {
  run_world({.size = 2, .config = gpu_config(Way::kNccl)},
            [](Runtime& job, transport::LoopbackWorld&) {
              const ThreadRuntime here(job);
              const Device gpu = local_gpu().value();
              const auto on_gpu = arena_alloc_on(gpu, 0);
              ASSERT_EQ(on_gpu.status(), absl::OkStatus());
              EXPECT_EQ(gpu_of(on_gpu->get()).value(), gpu);
              const auto on_host = arena_alloc_on(Device(), 100);
              ASSERT_EQ(on_host.status(), absl::OkStatus());
              EXPECT_TRUE(is_in_arena(on_host->get(), 100));
              EXPECT_EQ(arena_alloc_on(Device::cuda(99), 1).status().code(),
                        StatusCode::kInvalidArgument);
            });
  EXPECT_EQ(testing::FakeNccl::objects(), 0u);
}

TEST_F(GpuArena, NeedsAJob) {
  EXPECT_EQ(arena_alloc_on(Device::cuda(0), 1).status().code(),
            StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace hvd
