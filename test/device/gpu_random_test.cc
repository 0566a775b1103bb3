// SPDX-License-Identifier: Apache-2.0
// Random programs with tensors on GPUs give the same bits as on the CPU, on
// every path, however late and unsynchronized streams are. Where NCCL chooses
// the order of additions, the numbers give equal bits in every order.
//
// HOROVODPP_TEST_RUNS sets the number of programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "test/collective/reference.h"
#include "test/device/gpu_program.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

enum class Kind { kAllreduce, kAllgather, kBroadcast, kAlltoall, kScatter };

struct RandomCall {
  std::string name = {};
  Kind kind = Kind::kAllreduce;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1;
  std::int64_t rows = 1;
  int root = 0;
};

int programs() {
  const char* const text = std::getenv("HOROVODPP_TEST_RUNS");
  return text == nullptr ? 12 : std::max(1, std::atoi(text));
}

// Equal on all ranks.
std::vector<RandomCall> program_of(unsigned seed, int ranks) {
  std::mt19937 random(seed);
  const auto one_of = [&](auto values) {
    return values[random() % values.size()];
  };
  std::vector<RandomCall> all;
  for (unsigned i = 0; i < 3 + random() % 6; ++i) {
    RandomCall call = {.name = "tensor " + std::to_string(i)};
    call.kind = one_of(std::vector<Kind>{
        Kind::kAllreduce, Kind::kAllreduce, Kind::kAllreduce, Kind::kAllgather,
        Kind::kBroadcast, Kind::kAlltoall, Kind::kScatter});
    call.dtype = one_of(
        std::vector<DType>(std::begin(kAllDTypes), std::end(kAllDTypes)));
    call.op =
        call.dtype == DType::kBool
            ? one_of(std::vector<ReduceOp>{ReduceOp::kSum, ReduceOp::kMin})
            : one_of(std::vector<ReduceOp>{ReduceOp::kSum, ReduceOp::kMin,
                                           ReduceOp::kMax, ReduceOp::kProduct});
    // Powers of two do not round.
    if (is_floating_point(call.dtype) && random() % 3 == 0) call.prescale = 0.5;
    call.rows = static_cast<std::int64_t>(
        one_of(std::vector<int>{1, 3, 64, 700, 5000}));
    call.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
    all.push_back(call);
  }
  return all;
}

// This rank's input, in rows of two.
Buffer input_of(const RandomCall& call, int rank, int step) {
  const std::int64_t rows =
      call.kind == Kind::kAllgather ? call.rows + rank : call.rows;
  Buffer buffer = *Buffer::allocate(call.dtype, Shape({rows, 2}));
  for (std::int64_t i = 0; i < 2 * rows; ++i) {
    collective::put(
        call.dtype, buffer.view().data(), i,
        collective::small_value(call.dtype, call.op, rank, i + step));
  }
  return buffer;
}

using Bytes = std::vector<std::byte>;

// A collective on tensors of one kind of memory.
class Submitted {
 public:
  Submitted(Runtime& job, const RandomCall& call, const TensorView& x,
            const std::string& where, void* stream)
      : where_(x.device()) {
    const std::string name = call.name + where;
    switch (call.kind) {
      case Kind::kAllreduce:
        in_place_ = x;
        done_ = job.allreduce_async_(x, {.name = name,
                                         .op = call.op,
                                         .prescale_factor = call.prescale,
                                         .stream = stream});
        break;
      case Kind::kBroadcast:
        in_place_ = x;
        done_ = job.broadcast_async_(x, call.root,
                                     {.name = name, .stream = stream});
        break;
      case Kind::kAllgather:
        buffer_ = job.allgather_async(x, {.name = name, .stream = stream});
        break;
      case Kind::kScatter:
        buffer_ = job.reducescatter_async(x, {.name = name,
                                              .op = call.op,
                                              .prescale_factor = call.prescale,
                                              .stream = stream});
        break;
      case Kind::kAlltoall:
        // The last rank gets the remainder.
        exchanged_ = job.alltoall_async(
            x, {.name = name,
                .splits = std::vector<std::int64_t>(
                    static_cast<std::size_t>(job.topology().size()),
                    call.rows / job.topology().size()),
                .stream = stream});
        break;
    }
    kind_ = call.kind;
  }

  // Waits on the host if `waits`, else queues the wait in `stream`.
  ConstTensorView result(bool waits, void* stream) {
    switch (kind_) {
      case Kind::kAllgather:
      case Kind::kScatter: {
        const auto buffer = waits ? buffer_.wait() : buffer_.wait(stream);
        EXPECT_TRUE(buffer.ok()) << buffer.status();
        return kept_ = buffer->view();
      }
      case Kind::kAlltoall: {
        const auto exchanged =
            waits ? exchanged_.wait() : exchanged_.wait(stream);
        EXPECT_TRUE(exchanged.ok()) << exchanged.status();
        return kept_ = exchanged->tensor.view();
      }
      default: {
        const Status status = waits ? done_.wait() : done_.wait(stream);
        EXPECT_TRUE(status.ok()) << status;
        return in_place_;
      }
    }
  }
  void wait() {
    if (kind_ == Kind::kAllreduce || kind_ == Kind::kBroadcast) {
      EXPECT_TRUE(done_.wait().ok());
    }
  }

 private:
  Device where_;
  Kind kind_ = Kind::kAllreduce;
  TensorView in_place_;
  ConstTensorView kept_;
  Future<void> done_;
  Future<Buffer> buffer_;
  Future<AlltoallResult> exchanged_;
};

void play(Runtime& job, unsigned seed, Way way) {
  const int rank = job.topology().rank();
  const int size = job.topology().size();
  const std::vector<RandomCall> all = program_of(seed, size);
  std::mt19937 own(seed * 31 + static_cast<unsigned>(rank));
  GpuProgram mine(rank, size, way);
  // Enough steps for a cycle.
  for (int step = 0; step < 6; ++step) {
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), own);
    std::vector<Buffer> inputs;
    for (const RandomCall& call : all)
      inputs.push_back(input_of(call, rank, step));
    std::map<std::size_t, Submitted> here;
    std::map<std::size_t, Submitted> there;
    for (const std::size_t i : order) {
      const TensorView x = inputs[i].view();
      const TensorView on_gpu = mine.put(x.data(), x.dtype(), x.shape());
      // The copy must finish before the CPU's call changes its source.
      ASSERT_TRUE(mine.own_stream().synchronize().ok());
      there.try_emplace(i, job, all[i], on_gpu, " there", mine.stream());
      here.try_emplace(i, job, all[i], x, " here", nullptr);
    }
    for (const std::size_t i : order) {
      const ConstTensorView expected = here.at(i).result(true, nullptr);
      const ConstTensorView result =
          there.at(i).result(own() % 2 == 0, mine.stream());
      ASSERT_EQ(result.shape(), expected.shape());
      Bytes bytes(result.bytes());
      ASSERT_TRUE(mine.own_stream()
                      .copy(bytes.data(), result.data(), bytes.size())
                      .ok());
      ASSERT_TRUE(mine.own_stream().synchronize().ok());
      ASSERT_TRUE(bytes.empty() ||
                  std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0)
          << "program " << seed << ", " << all[i].name << " of "
          << name_of(all[i].dtype) << ", step " << step << ", rank " << rank
          << " of " << size;
      there.at(i).wait();
    }
  }
}

TEST(GpuRandomPrograms, GiveTheBitsOfTheCpu) {
  constexpr Way kWays[] = {Way::kNccl, Way::kIpc, Way::kStaged};
  for (int run = 0; run < programs(); ++run) {
    const Way way = kWays[run / 4 % 3];
    // A real NCCL adds in its own order.
    if (way == Way::kNccl && testing::gpus_are_real()) continue;
    const Config config = gpu_config(way);
    const WorldOptions world = {.size = 1 + run % 4,
                                .ranks_per_node = run % 8 == 7 ? 2 : 0,
                                .config = config};
    run_world(world, [&](Runtime& job, transport::LoopbackWorld&) {
      play(job, static_cast<unsigned>(run), way);
    });
    testing::TestGpus::expect_no_objects_of_nccl();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hvd
