// SPDX-License-Identifier: Apache-2.0
// Steps with collectives that are captured as CUDA graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/runtime/gpu/captured_step.h"
#include "test/device/gpu_program.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::size_t kNumbers = 300;

using JobBody = std::function<void(Runtime&, GpuProgram&)>;

void run_job(const WorldOptions& world, Way way, const JobBody& body) {
  run_world(world, [&](Runtime& job, transport::LoopbackWorld&) {
    GpuProgram program(job.topology().rank(), job.topology().size(), way);
    body(job, program);
  });
  // NCCL communicators must end after the graphs that use them.
  testing::TestGpus::expect_no_objects_of_nccl();
}

void run_by_nccl(const JobBody& body) {
  const Config config = gpu_config(Way::kNccl);
  for (const int size : {1, 2, 3, 4}) {
    if (can_go(Way::kNccl, size)) {
      run_job({.size = size, .config = config}, Way::kNccl, body);
    }
  }
  if (can_go(Way::kNccl, 4)) {
    run_job({.size = 4, .ranks_per_node = 2, .config = config}, Way::kNccl,
            body);
  }
}

std::vector<float> all_of(float value) {
  return std::vector<float>(kNumbers, value);
}

CaptureOptions options_of(const GpuProgram& mine,
                          ProcessSet set = ProcessSet::global()) {
  return {.name = "step",
          .device = Device::cuda(mine.gpu()),
          .stream = mine.stream(),
          .process_set = std::move(set)};
}

Status sum_behind(Runtime& job, GpuProgram& mine, const TensorView& x,
                  const std::string& name = "x") {
  return job
      .allreduce_async_(
          x, {.name = name, .op = ReduceOp::kSum, .stream = mine.stream()})
      .wait(mine.stream());
}

absl::Status copy_behind(GpuProgram& mine, const TensorView& to,
                         const TensorView& from) {
  return mine.own_stream().copy(to.data(), from.data(), from.bytes());
}

// Copies in to x, sums x, and copies x to out.
class SummingStep {
 public:
  SummingStep(Runtime& job, GpuProgram& mine) : job_(job), mine_(mine) {}

  Status operator()() const {
    if (absl::Status status = copy_behind(mine_, x_, in_); !status.ok())
      return status;
    if (Status status = sum_behind(job_, mine_, x_); !status.ok())
      return status;
    return copy_behind(mine_, out_, x_);
  }
  // Fills `in` with this rank's values of step `n`.
  void fill(int n) const {
    const TensorView values = mine_.put(all_of(value(mine_.rank(), n)));
    ASSERT_TRUE(copy_behind(mine_, in_, values).ok());
  }
  void expect(int n) const {
    ASSERT_TRUE(mine_.own_stream().synchronize().ok());
    float all = 0;
    for (int rank = 0; rank < mine_.size(); ++rank) all += value(rank, n);
    ASSERT_THAT(mine_.get(out_), Each(all)) << "step " << n;
  }

 private:
  static float value(int rank, int n) {
    return static_cast<float>(10 * n + rank);
  }
  Runtime& job_;
  GpuProgram& mine_;
  const TensorView in_ = mine_.put(all_of(0));
  const TensorView x_ = mine_.put(all_of(0));
  const TensorView out_ = mine_.put(all_of(-1));
};

void replay_and_expect(CapturedStep& step, const SummingStep& sums,
                       GpuProgram& mine, int n) {
  sums.fill(n);
  auto done = step.replay();
  ASSERT_EQ(done.wait(mine.stream()), absl::OkStatus());
  ASSERT_EQ(done.wait(), absl::OkStatus());
  sums.expect(n);
}

// Captured before a cycle is in force; replays then form their own cycle.
TEST(GpuGraphs, RepeatTheStep) {
  run_by_nccl([](Runtime& job, GpuProgram& mine) {
    const SummingStep sums(job, mine);
    for (int n = 0; n < 4; ++n) {
      sums.fill(n);
      ASSERT_EQ(sums(), absl::OkStatus());
      sums.expect(n);
    }
    auto step =
        CapturedStep::capture(job, options_of(mine), [&] { return sums(); });
    ASSERT_EQ(step.status(), absl::OkStatus());
    for (int n = 4; n < 12; ++n) replay_and_expect(*step, sums, mine, n);
    // One uncaptured step, then a new capture.
    sums.fill(12);
    ASSERT_EQ(sums(), absl::OkStatus());
    sums.expect(12);
    step = CapturedStep::capture(job, options_of(mine), [&] { return sums(); });
    ASSERT_EQ(step.status(), absl::OkStatus());
    for (int n = 13; n < 16; ++n) replay_and_expect(*step, sums, mine, n);
  });
}

// Other collectives and replays run in one order on all ranks, although ranks
// submit them in different orders. A cycle ends and another begins.
TEST(GpuGraphs, StayInOrderWithOtherCalls) {
  run_by_nccl([](Runtime& job, GpuProgram& mine) {
    const SummingStep sums(job, mine);
    ASSERT_EQ(sums(), absl::OkStatus());
    auto step =
        CapturedStep::capture(job, options_of(mine), [&] { return sums(); });
    ASSERT_EQ(step.status(), absl::OkStatus());
    for (int n = 0; n < 12; ++n) {
      const TensorView y = mine.put(all_of(1));
      sums.fill(n);
      Future<void> done;
      if (mine.rank() % 2 == 0) done = step->replay();
      Future<void> other =
          job.allreduce_async_(y, {.name = n % 5 == 4 ? "now and then" : "y",
                                   .op = ReduceOp::kSum,
                                   .stream = mine.stream()});
      if (mine.rank() % 2 == 1) done = step->replay();
      ASSERT_EQ(done.wait(), absl::OkStatus());
      ASSERT_EQ(other.wait(), absl::OkStatus());
      sums.expect(n);
      ASSERT_THAT(mine.get(y), Each(static_cast<float>(mine.size())));
    }
  });
}

TEST(GpuGraphs, CaptureCollectivesOfEveryKindAndPreparedCalls) {
  run_by_nccl([](Runtime& job, GpuProgram& mine) {
    const auto n = static_cast<float>(mine.size());
    const auto rank = static_cast<float>(mine.rank());
    const TensorView x = mine.put(all_of(1));
    auto prepared = job.prepare_allreduce_(
        x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()});
    ASSERT_EQ(prepared.status(), absl::OkStatus());
    const TensorView root = mine.put(all_of(rank));
    const TensorView row = mine.put<float>({rank, rank});
    const TensorView rows =
        mine.put(std::vector<float>(2 * static_cast<std::size_t>(mine.size())));
    const TensorView part = mine.put<float>({-1, -1});
    const auto all = [&]() -> Status {
      prepared->start();
      if (Status status = prepared->wait(mine.stream()); !status.ok()) {
        return status;
      }
      Future<void> sent = job.broadcast_async_(
          root, mine.size() - 1, {.name = "root", .stream = mine.stream()});
      if (Status status = sent.wait(mine.stream()); !status.ok()) return status;
      Future<void> gathered = job.allgather_into_async(
          row, rows, {.name = "rows", .stream = mine.stream()});
      if (Status status = gathered.wait(mine.stream()); !status.ok()) {
        return status;
      }
      Future<void> scattered = job.reducescatter_into_async(
          rows, part,
          {.name = "part", .op = ReduceOp::kSum, .stream = mine.stream()});
      return scattered.wait(mine.stream());
    };
    ASSERT_EQ(all(), absl::OkStatus());
    auto step = CapturedStep::capture(job, options_of(mine), all);
    ASSERT_EQ(step.status(), absl::OkStatus());
    float expected = n;
    for (int k = 0; k < 3; ++k) {
      expected *= n;
      ASSERT_EQ(step->replay().wait(), absl::OkStatus());
      EXPECT_THAT(mine.get(x), Each(expected));
    }
    EXPECT_THAT(mine.get(root), Each(n - 1));
    EXPECT_THAT(mine.get(part), Each(n * rank));
    // The prepared call still works outside the graph.
    ASSERT_EQ(prepared->run(), absl::OkStatus());
    EXPECT_THAT(mine.get(x), Each(expected * n));
  });
}

// The program captures and launches by itself.
TEST(GpuGraphs, MayBeTheProgramsOwn) {
  run_by_nccl([](Runtime& job, GpuProgram& mine) {
    const SummingStep sums(job, mine);
    ASSERT_EQ(sums(), absl::OkStatus());
    const device::CudaContext context = mine.own_stream().context();
    ASSERT_TRUE(
        device::CudaGraph::begin(context, mine.own_stream().handle()).ok());
    ASSERT_EQ(sums(), absl::OkStatus());
    auto graph = device::CudaGraph::end(context, mine.own_stream().handle());
    ASSERT_EQ(graph.status(), absl::OkStatus());
    for (int n = 0; n < 4; ++n) {
      sums.fill(n);
      ASSERT_EQ(job.barrier(), absl::OkStatus());
      ASSERT_EQ((*graph)->launch(mine.own_stream()), absl::OkStatus());
      ASSERT_EQ(mine.own_stream().synchronize(), absl::OkStatus());
      sums.expect(n);
    }
    // NCCL requires that graphs end before communicators.
    (*graph)->drop();
  });
}

TEST(GpuGraphs, AreCapturedByAllRanksOrByNone) {
  HVD_NEEDS_GPUS(2);
  const Config config = gpu_config(Way::kNccl);
  run_job({.size = 2, .config = config}, Way::kNccl,
          [](Runtime& job, GpuProgram& mine) {
            const TensorView x = mine.put(all_of(1));
            ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
            Status status;
            if (mine.rank() == 0) {
              status = CapturedStep::capture(job, options_of(mine), [&] {
                         return sum_behind(job, mine, x);
                       }).status();
            } else {
              status = sum_behind(job, mine, x);
            }
            EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
            EXPECT_THAT(std::string(status.message()),
                        AllOf(HasSubstr("a captured collective"),
                              HasSubstr("capture it on every rank")));
            ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
          });
}

TEST(GpuGraphs, AreRefusedWhereNcclIsNotUsed) {
  for (const Way way : {Way::kIpc, Way::kStaged}) {
    const Config config = gpu_config(way);
    run_job(
        {.size = 2, .config = config}, way, [](Runtime& job, GpuProgram& mine) {
          const TensorView x = mine.put(all_of(1));
          ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
          const Status status =
              CapturedStep::capture(job, options_of(mine), [&] {
                return sum_behind(job, mine, x);
              }).status();
          EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status;
          EXPECT_THAT(
              std::string(status.message()),
              AllOf(HasSubstr("allreduce of 'x': it cannot be captured"),
                    HasSubstr("only tensors that go by NCCL")));
          auto empty = CapturedStep::capture(job, options_of(mine),
                                             [] { return Status(); });
          ASSERT_EQ(empty.status(), absl::OkStatus());
          const Status replayed = empty->replay().wait();
          EXPECT_EQ(replayed.code(), StatusCode::kUnimplemented) << replayed;
          ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
        });
  }
}

TEST(GpuGraphs, AreRefusedWithoutNccl) {
  HVD_NEEDS_GPUS(2);
  const Config config = gpu_config(Way::kNccl);
  run_job(
      {.size = 2, .config = config}, Way::kNccl,
      [](Runtime& job, GpuProgram& mine) {
        const TensorView x = mine.put(all_of(1));
        const TensorView shorts = mine.put(std::vector<std::int16_t>(10, 1));
        const auto capture = [&](const TensorView& tensor) {
          return CapturedStep::capture(
                     job, options_of(mine),
                     [&] { return sum_behind(job, mine, tensor, "of a step"); })
              .status();
        };
        EXPECT_THAT(std::string(capture(x).message()),
                    HasSubstr("make a step before the capture"));
        ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
        EXPECT_THAT(std::string(capture(shorts).message()),
                    HasSubstr("NCCL cannot run this collective"));
        EXPECT_EQ(capture(x), absl::OkStatus());
      });
}

TEST(GpuGraphs, ReportAForgottenWait) {
  HVD_NEEDS_GPUS(2);
  const Config config = gpu_config(Way::kNccl);
  run_job(
      {.size = 2, .config = config}, Way::kNccl,
      [](Runtime& job, GpuProgram& mine) {
        const TensorView x = mine.put(all_of(1));
        ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
        const Status status =
            CapturedStep::capture(job, options_of(mine), [&] {
              return job
                  .allreduce_async_(x, {.name = "x", .stream = mine.stream()})
                  .wait();
            }).status();
        EXPECT_THAT(std::string(status.message()), HasSubstr("wait(stream)"));
        CaptureOptions wrong = options_of(mine);
        wrong.name = "";
        const auto empty = [] { return Status(); };
        EXPECT_TRUE(absl::IsInvalidArgument(
            CapturedStep::capture(job, wrong, empty).status()));
        wrong = options_of(mine);
        wrong.stream = nullptr;
        EXPECT_TRUE(absl::IsInvalidArgument(
            CapturedStep::capture(job, wrong, empty).status()));
        wrong = options_of(mine);
        wrong.device = Device::cpu();
        EXPECT_TRUE(absl::IsInvalidArgument(
            CapturedStep::capture(job, wrong, empty).status()));
        EXPECT_TRUE(absl::IsFailedPrecondition(CapturedStep().replay().wait()));
        ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
      });
}

TEST(GpuGraphs, AreDroppedWithARemovedProcessSet) {
  HVD_NEEDS_GPUS(3);
  const Config config = gpu_config(Way::kNccl);
  run_job({.size = 3, .config = config}, Way::kNccl,
          [](Runtime& job, GpuProgram& mine) {
            const auto set = job.add_process_set_async({0, 1}).wait();
            ASSERT_EQ(set.status(), absl::OkStatus());
            const TensorView x = mine.put(all_of(1));
            ASSERT_EQ(sum_behind(job, mine, x), absl::OkStatus());
            if (mine.rank() < 2) {
              const auto in_set = [&] {
                return job
                    .allreduce_async_(x, {.name = "of the set",
                                          .op = ReduceOp::kSum,
                                          .process_set = *set,
                                          .stream = mine.stream()})
                    .wait(mine.stream());
              };
              ASSERT_EQ(in_set(), absl::OkStatus());
              auto step =
                  CapturedStep::capture(job, options_of(mine, *set), in_set);
              ASSERT_EQ(step.status(), absl::OkStatus());
              ASSERT_EQ(step->replay().wait(), absl::OkStatus());
              EXPECT_THAT(mine.get(x), Each(3.0f * 2 * 2));
              ASSERT_EQ(job.remove_process_set_async(*set).wait(),
                        absl::OkStatus());
              EXPECT_FALSE(step->replay().wait().ok());
            } else {
              ASSERT_EQ(job.remove_process_set_async(*set).wait(),
                        absl::OkStatus());
            }
          });
}

// A captured graph may use the process set's communicator, so it is dropped on
// all ranks, members or not.
TEST(GpuGraphs, AreDroppedWithAProcessSetOfOtherRanks) {
  HVD_NEEDS_GPUS(2);
  const Config config = gpu_config(Way::kNccl);
  run_job({.size = 2, .config = config}, Way::kNccl,
          [](Runtime& job, GpuProgram& mine) {
            const auto set = job.add_process_set_async({0}).wait();
            ASSERT_EQ(set.status(), absl::OkStatus());
            if (mine.rank() == 0) {
              const TensorView alone = mine.put(all_of(1));
              ASSERT_EQ(job.allreduce_async_(alone, {.name = "alone",
                                                     .process_set = *set,
                                                     .stream = mine.stream()})
                            .wait(),
                        absl::OkStatus());
            }
            const SummingStep sums(job, mine);
            ASSERT_EQ(sums(), absl::OkStatus());
            const auto capture = [&] {
              return CapturedStep::capture(job, options_of(mine),
                                           [&] { return sums(); });
            };
            auto step = capture();
            ASSERT_EQ(step.status(), absl::OkStatus());
            replay_and_expect(*step, sums, mine, 1);
            ASSERT_EQ(job.remove_process_set_async(*set).wait(),
                      absl::OkStatus());
            const Status status = step->replay().wait();
            EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status;
            EXPECT_THAT(std::string(status.message()),
                        HasSubstr("replay of 'step': a process set has been "
                                  "removed"));
            step = capture();
            ASSERT_EQ(step.status(), absl::OkStatus());
            replay_and_expect(*step, sums, mine, 2);
          });
}

TEST(GpuGraphs, NeedEveryRank) {
  HVD_NEEDS_GPUS(2);
  const Config config = gpu_config(Way::kNccl);
  run_job({.size = 2, .config = config}, Way::kNccl,
          [](Runtime& job, GpuProgram& mine) {
            const SummingStep sums(job, mine);
            ASSERT_EQ(sums(), absl::OkStatus());
            auto step = CapturedStep::capture(job, options_of(mine),
                                              [&] { return sums(); });
            ASSERT_EQ(step.status(), absl::OkStatus());
            if (mine.rank() == 1) {
              ASSERT_EQ(job.join_async().wait().status(), absl::OkStatus());
              return;
            }
            const Status status = step->replay().wait();
            EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
            EXPECT_THAT(std::string(status.message()),
                        HasSubstr("replay of 'step' needs every rank"));
            ASSERT_EQ(job.join_async().wait().status(), absl::OkStatus());
          });
}

// An error or hung work in a graph: the error names the rank, and the survivors
// capture anew.
TEST(GpuGraphs, AFaultBreaksTheJobAndSurvivorsCaptureAgain) {
  HVD_NEEDS_STAND_INS();
  struct Fault {
    const char* kind;
    const char* says;
  };
  for (const Fault& fault : {Fault{"async error", "unhandled system error"},
                             Fault{"hang", "hangs"}}) {
    const Config config = config_that_gives_up();
    testing::FakeNccl::fault(fault.kind, 1, 3);
    run_job({.size = 3, .config = config}, Way::kNccl,
            [&](Runtime& job, GpuProgram& mine) {
              const SummingStep sums(job, mine);
              ASSERT_EQ(sums(), absl::OkStatus());
              auto step = CapturedStep::capture(job, options_of(mine),
                                                [&] { return sums(); });
              ASSERT_EQ(step.status(), absl::OkStatus());
              Status status;
              for (int n = 0; n < 6 && status.ok(); ++n) {
                status = step->replay().wait();
              }
              EXPECT_TRUE(absl::IsAborted(status)) << status;
              EXPECT_THAT(
                  std::string(status.message()),
                  AllOf(HasSubstr("rank "), HasSubstr("a captured step"),
                        HasSubstr(fault.says)));
              testing::FakeNccl::fault("");
              const auto next = job.reform();
              ASSERT_EQ(next.status(), absl::OkStatus());
              EXPECT_TRUE(absl::IsFailedPrecondition(step->replay().wait()));
              const SummingStep again(**next, mine);
              ASSERT_EQ(again(), absl::OkStatus());
              step = CapturedStep::capture(**next, options_of(mine),
                                           [&] { return again(); });
              ASSERT_EQ(step.status(), absl::OkStatus());
              for (int n = 0; n < 3; ++n)
                replay_and_expect(*step, again, mine, n);
              EXPECT_EQ((*next)->stop(), absl::OkStatus());
            });
  }
}

}  // namespace
}  // namespace hvd
