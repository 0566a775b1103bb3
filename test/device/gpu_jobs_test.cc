// SPDX-License-Identifier: Apache-2.0
// Jobs with tensors on GPUs, as programs use them. Separate from the runtime's
// tests, because a process searches for a driver only once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/gpu/gpu_choice.h"
#include "test/device/gpu_program.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using GpuBody = std::function<void(Runtime&, GpuProgram&)>;

class GpuJobs : public ::testing::TestWithParam<Way> {
 protected:
  static Config config() { return gpu_config(GetParam()); }

  static void run(const WorldOptions& options, const GpuBody& body) {
    run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
      GpuProgram program(job.topology().rank(), job.topology().size(),
                         GetParam());
      body(job, program);
    });
    testing::TestGpus::expect_no_objects_of_nccl();
  }

  // In jobs of 1 to 4 ranks on one node, and of 4 on two. NCCL jobs have at
  // most as many ranks as GPUs.
  static void run_on_gpus(const GpuBody& body) {
    for (const int size : {1, 2, 3, 4}) {
      if (can_go(GetParam(), size)) {
        run({.size = size, .config = config()}, body);
      }
    }
    if (can_go(GetParam(), 4)) {
      run({.size = 4, .ranks_per_node = 2, .config = config()}, body);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, GpuJobs,
                         ::testing::Values(Way::kNccl, Way::kIpc, Way::kStaged),
                         [](const auto& way) {
                           return way.param == Way::kNccl  ? "Nccl"
                                  : way.param == Way::kIpc ? "Ipc"
                                                           : "Staged";
                         });

std::vector<float> filled(float value) {
  return std::vector<float>(1000, value);
}

TEST_P(GpuJobs, ReduceTensorsPendingInTheStream) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    const auto n = static_cast<float>(mine.size());
    for (int step = 0; step < 10; ++step) {
      const TensorView x =
          mine.put(filled(static_cast<float>(mine.rank() + step)));
      ASSERT_EQ(job.allreduce_async_(x, {.name = "x",
                                         .op = ReduceOp::kSum,
                                         .stream = mine.stream()})
                    .wait(),
                absl::OkStatus());
      ASSERT_THAT(mine.get(x),
                  Each(n * (n - 1) / 2 + n * static_cast<float>(step)));
    }
  });
}

TEST_P(GpuJobs, PutResultsOnTheDeviceOfTheInputs) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    const TensorView x = mine.put(filled(static_cast<float>(mine.rank())));
    const auto sum = job.allreduce_async(x, {.name = "sum",
                                             .op = ReduceOp::kMax,
                                             .stream = mine.stream()})
                         .wait();
    ASSERT_EQ(sum.status(), absl::OkStatus());
    EXPECT_THAT(mine.get(sum->view()),
                Each(static_cast<float>(mine.size() - 1)));
    EXPECT_THAT(mine.get(x), Each(static_cast<float>(mine.rank())));
  });
}

TEST_P(GpuJobs, GatherBroadcastExchangeAndScatter) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    const auto rank = static_cast<float>(mine.rank());
    const auto n = static_cast<std::size_t>(mine.size());
    std::vector<float> ranks(n);
    for (std::size_t i = 0; i < n; ++i) ranks[i] = static_cast<float>(i);

    const auto gathered =
        job.allgather_async(mine.put<float>({rank}),
                            {.name = "g", .stream = mine.stream()})
            .wait();
    ASSERT_EQ(gathered.status(), absl::OkStatus());
    EXPECT_EQ(mine.get(gathered->view()), ranks);

    const TensorView root = mine.put<float>({rank, rank});
    ASSERT_EQ(job.broadcast_async_(root, mine.size() - 1,
                                   {.name = "b", .stream = mine.stream()})
                  .wait(),
              absl::OkStatus());
    EXPECT_THAT(mine.get(root), Each(ranks.back()));

    const auto exchanged =
        job.alltoall_async(mine.put(std::vector<float>(n, rank)),
                           {.name = "a", .stream = mine.stream()})
            .wait();
    ASSERT_EQ(exchanged.status(), absl::OkStatus());
    EXPECT_EQ(mine.get(exchanged->tensor.view()), ranks);

    const auto scattered =
        job.reducescatter_async(
               mine.put(ranks),
               {.name = "s", .op = ReduceOp::kSum, .stream = mine.stream()})
            .wait();
    ASSERT_EQ(scattered.status(), absl::OkStatus());
    EXPECT_THAT(mine.get(scattered->view()),
                ElementsAre(rank * static_cast<float>(n)));
  });
}

TEST_P(GpuJobs, ReduceGroupsAndPreparedCalls) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    const auto n = static_cast<float>(mine.size());
    const TensorView a = mine.put(filled(1));
    const TensorView b = mine.put<float>({2, 3});
    ASSERT_EQ(job.grouped_allreduce_async_({a, b}, {.name = "group",
                                                    .op = ReduceOp::kSum,
                                                    .stream = mine.stream()})
                  .wait(),
              absl::OkStatus());
    EXPECT_THAT(mine.get(a), Each(n));
    EXPECT_THAT(mine.get(b), ElementsAre(2 * n, 3 * n));

    auto prepared = job.prepare_allreduce_(
        b, {.name = "b", .op = ReduceOp::kMax, .stream = mine.stream()});
    ASSERT_EQ(prepared.status(), absl::OkStatus());
    for (int step = 0; step < 5; ++step) {
      prepared->start();
      ASSERT_EQ(prepared->wait(), absl::OkStatus());
      EXPECT_THAT(mine.get(b), ElementsAre(2 * n, 3 * n));
    }
  });
}

TEST_P(GpuJobs, GoOnWithoutARankThatHasJoined) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    if (mine.rank() > 0) {
      const TensorView x = mine.put(filled(2));
      ASSERT_EQ(job.allreduce_async_(x, {.name = "x",
                                         .op = ReduceOp::kSum,
                                         .stream = mine.stream()})
                    .wait(),
                absl::OkStatus());
      EXPECT_THAT(mine.get(x),
                  Each(2.0f * static_cast<float>(mine.size() - 1)));
    }
    ASSERT_EQ(job.join_async().wait().status(), absl::OkStatus());
  });
}

// Only where this library defines the order. The staged plane reduces in
// chunks.
TEST_P(GpuJobs, ReduceLargeTensorsBitByBitAsTheHostDoes) {
  constexpr std::size_t kCount = 3'000'001;
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    if (mine.size() < 3 || GetParam() == Way::kNccl) return;
    std::vector<float> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      values[i] =
          1.0f / static_cast<float>(i % 1009 + 3 +
                                    static_cast<std::size_t>(mine.rank()));
    }
    std::vector<float> on_host = values;
    const TensorView x = mine.put(std::move(values));
    ASSERT_EQ(job.allreduce_async_(x, {.name = "gpu", .stream = mine.stream()})
                  .wait(),
              absl::OkStatus());
    ASSERT_EQ(job.allreduce_async_(
                     TensorView::of(on_host.data(),
                                    {static_cast<std::int64_t>(kCount)}),
                     {.name = "host"})
                  .wait(),
              absl::OkStatus());
    EXPECT_TRUE(mine.get(x) == on_host);
  });
}

TEST_P(GpuJobs, GiveEachRankAGpuByTurns) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    const ThreadRuntime here(job);
    const int gpus = device::Gpus::of_process().driver().value()->devices();
    EXPECT_EQ(local_gpu().value(),
              Device::cuda(job.topology().local_rank() % gpus));
    EXPECT_EQ(gpu_of(mine.put<float>({1}).data()).value(),
              Device::cuda(mine.gpu()));
    const float on_host = 0;
    EXPECT_EQ(gpu_of(&on_host).status().code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(cuda_built());
    EXPECT_GE(nccl_built(), 0);
  });
}

TEST_P(GpuJobs, RefuseMemoryOfAnotherDevice) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    float on_host = 0;
    const TensorView lie(&on_host, DType::kF32, Shape({1}), Device::cuda(0));
    const TensorView x = mine.put<float>({1});
    const TensorView elsewhere(x.data(), DType::kF32, Shape({1}),
                               Device::cuda(mine.gpu() == 0 ? 1 : 0));
    const TensorView nowhere(x.data(), DType::kF32, Shape({1}),
                             Device::cuda(7));
    for (const TensorView& wrong : {lie, elsewhere, nowhere}) {
      const Status status = job.allreduce_async_(wrong, {.name = "w"}).wait();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    }
    if (testing::TestGpus::count() == 1) return;
    EXPECT_THAT(
        std::string(
            job.allreduce_async_(elsewhere, {.name = "w"}).wait().message()),
        HasSubstr("its memory belongs to cuda:"));
  });
}

TEST_P(GpuJobs, UseNcclIfConfigured) {
  HVD_NEEDS_STAND_INS();
  run({.size = 2, .config = config()}, [](Runtime& job, GpuProgram& mine) {
    const TensorView x = mine.put<float>({1});
    ASSERT_TRUE(job.allreduce_async_(x, {.name = "x", .stream = mine.stream()})
                    .wait()
                    .ok());
    EXPECT_EQ(testing::FakeNccl::objects() > 0, GetParam() == Way::kNccl);
  });
}

// A submission asks once per tensor, and planes do not ask again.
TEST_P(GpuJobs, QueryTheDriverOncePerTensor) {
  HVD_NEEDS_STAND_INS();
  run({.size = 1, .config = config()}, [](Runtime& job, GpuProgram& mine) {
    const TensorView x = mine.put(filled(1));
    constexpr std::size_t kSums = 10;
    std::size_t before = 0;
    for (std::size_t i = 0; i <= kSums; ++i) {
      if (i == 1) before = testing::FakeCuda::calls("cuPointerGetAttributes");
      ASSERT_EQ(job.allreduce_async_(x, {.name = "x", .stream = mine.stream()})
                    .wait(),
                absl::OkStatus());
    }
    EXPECT_EQ(testing::FakeCuda::calls("cuPointerGetAttributes") - before,
              kSums);
  });
}

// The host waits only for the last copy.
TEST_P(GpuJobs, OrderAStreamBehindAPendingResult) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    const auto n = static_cast<float>(mine.size());
    const TensorView x = mine.put(filled(1));
    float expected = 1;
    for (int step = 0; step < 20; ++step, expected *= n) {
      auto sum = job.allreduce_async_(
          x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()});
      ASSERT_EQ(sum.wait(mine.stream()), absl::OkStatus());
    }
    auto all = job.allgather_async(x, {.name = "g", .stream = mine.stream()});
    const auto rows = all.wait(mine.stream());
    ASSERT_EQ(rows.status(), absl::OkStatus());
    std::vector<float> values(static_cast<std::size_t>(rows->num_elements()));
    ASSERT_TRUE(mine.own_stream()
                    .copy(values.data(), rows->view().data(), rows->bytes())
                    .ok());
    ASSERT_TRUE(mine.own_stream().synchronize().ok());
    EXPECT_THAT(values, Each(expected));
    EXPECT_EQ(values.size(), 1000 * static_cast<std::size_t>(mine.size()));
    EXPECT_EQ(all.wait().status(), absl::OkStatus());
  });
}

TEST_P(GpuJobs, OrderAStreamBehindAPreparedCall) {
  run_on_gpus([](Runtime& job, GpuProgram& mine) {
    const auto n = static_cast<float>(mine.size());
    const TensorView x = mine.put(filled(1));
    const TensorView seen = mine.put(filled(0));
    auto sum = job.prepare_allreduce_(
        x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()});
    ASSERT_EQ(sum.status(), absl::OkStatus());
    EXPECT_TRUE(absl::IsFailedPrecondition(sum->wait(mine.stream())));
    float expected = 1;
    for (int step = 0; step < 8; ++step) {
      expected *= n;
      sum->start();
      ASSERT_EQ(sum->wait(mine.stream()), absl::OkStatus());
      ASSERT_TRUE(
          mine.own_stream().copy(seen.data(), x.data(), x.bytes()).ok());
      if (step % 3 == 0) {
        ASSERT_EQ(sum->wait(), absl::OkStatus());
      }
      ASSERT_TRUE(mine.own_stream().synchronize().ok());
      ASSERT_THAT(mine.get(seen), Each(expected));
    }
    // Also for a result that is long done.
    ASSERT_EQ(sum->wait(), absl::OkStatus());
    EXPECT_EQ(sum->wait(mine.stream()), absl::OkStatus());
  });
}

}  // namespace
}  // namespace hvd
