// SPDX-License-Identifier: Apache-2.0
// The contract of every plane (conformance.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "test/collective/conformance.h"
#include "test/collective/conforming_calls.h"
#include "test/collective/fused_calls.h"

namespace hvd::collective {
namespace {

std::vector<Reduction> all_reductions() {
  std::vector<Reduction> all;
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOp op : kAllOps) {
      for (const auto& [prescale, postscale] :
           {std::pair(1.0, 1.0), std::pair(0.5, 1.0), std::pair(1.0, 3.0)}) {
        const Reduction reduction = {dtype, op, prescale, postscale};
        if (check(reduction).ok()) all.push_back(reduction);
      }
    }
  }
  return all;
}

// Each reduction at each size, alternating in-place and not, fused and not.
TEST_P(PlaneConformance, AllreduceEqualsTheReference) {
  GetParam()([](Member& member) {
    unsigned turn = 0;
    for (const Reduction& reduction : all_reductions()) {
      for (const std::int64_t count : {0, 1, 37, 1001}) {
        const bool in_place = turn % 2 != 0;
        const bool fused = turn / 2 % 2 != 0;
        ++turn;
        const AllreduceCase test = {reduction, cut(count, fused), in_place};
        if (!allreduce_conforms(member, test)) return;
      }
      ++turn;
    }
  });
}

TEST_P(PlaneConformance, AnAverageDividesByTheParticipants) {
  GetParam()([](Member& member) {
    for (const DType dtype : {DType::kI32, DType::kI8, DType::kF32}) {
      for (const int participants : {1, 2, 3, 49}) {
        const Reduction reduction = {.dtype = dtype,
                                     .op = ReduceOp::kAverage,
                                     .participants = participants};
        const bool in_place = participants % 2 == 0;
        for (const std::int64_t count : {0, 1, 38, 3000}) {
          const AllreduceCase test = {reduction, cut(count, in_place),
                                      !in_place};
          if (!allreduce_conforms(member, test)) return;
        }
      }
    }
  });
}

TEST_P(PlaneConformance, ReducescatterGivesEachRankItsPartOfAnAllreduce) {
  GetParam()([](Member& member) {
    const auto parts = [&](std::int64_t count, int way) {
      return parts_of(count, member.ranks, way);
    };
    const std::vector<std::vector<std::vector<std::int64_t>>> forms = {
        {parts(1, 0)},
        {parts(37, 2)},
        {parts(5, 1), parts(0, 0), parts(20, 2)}};
    // Rotates through the forms; the extra shift keeps them out of step with
    // the scales, which rotate, too.
    std::size_t turn = 0;
    for (const Reduction& reduction : all_reductions()) {
      const auto& form = forms[(turn + turn / forms.size()) % forms.size()];
      if (!reducescatter_conforms(member, reduction, form)) return;
      ++turn;
    }
    for (const DType dtype : {DType::kF16, DType::kF32, DType::kI64}) {
      const Reduction reduction = {.dtype = dtype, .op = ReduceOp::kAverage};
      for (const int way : {0, 1, 2}) {
        const bool well =
            reducescatter_conforms(member, reduction, {parts(2311, way)}) &&
            reducescatter_conforms(
                member, reduction,
                {parts(300, way), parts(1, 0), parts(1999, 2 - way)});
        if (!well) return;
      }
    }
    for (const std::int64_t count : {1, 29, 3001}) {
      if (!reduce_to_last_conforms(member, count)) return;
    }
    EXPECT_TRUE(reducescatter_conforms(member, {}, {}));
    EXPECT_TRUE(reducescatter_conforms(member, {}, {parts(0, 0)}));
  });
}

TEST_P(PlaneConformance, AlltoallBringsEachRankItsPieces) {
  GetParam()([](Member& member) {
    for (const std::size_t size : std::vector<std::size_t>{0, 1, 37, 1500}) {
      const bool well =
          alltoall_conforms(member, [&](int, int) { return size; }) &&
          alltoall_conforms(
              member,
              [&](int from, int to) {
                return size * static_cast<std::size_t>((from * 3 + to * 2) % 5);
              }) &&
          alltoall_conforms(member, [&](int from, int to) {
            return from == member.ranks - 1 && to == 0 ? size : 0;
          });
      if (!well) return;
    }
  });
}

// Ends the waits of ranks that get no report of a failed call. In one process,
// the rank that notices the failure sets `noticed`; other processes give up
// after `checks` checks.
class UntilNoticed : public transport::Interrupt {
 public:
  UntilNoticed(const std::atomic<bool>& noticed, int checks)
      : noticed_(noticed), checks_(checks) {}
  absl::Status check() override {
    if (!noticed_.load() && checks_-- > 0) return absl::OkStatus();
    return absl::UnavailableError("rank 1 has noticed");
  }

 private:
  const std::atomic<bool>& noticed_;
  int checks_;
};

TEST_P(PlaneConformance, AlltoallOfSizesThatDisagreeIsAnError) {
  for (const std::size_t too_much : {1u, 1000u}) {
    std::atomic<bool> noticed = false;
    GetParam()([&](Member& member) {
      if (member.ranks == 1) return;
      // Rank 0 sends rank 1 more than rank 1 expects.
      std::vector<std::size_t> sent(static_cast<std::size_t>(member.ranks), 8);
      const std::vector<std::size_t> expected = sent;
      if (member.rank == 0) sent[1] += too_much;
      const Bytes input(
          std::accumulate(sent.begin(), sent.end(), std::size_t{0}));
      Bytes output(8 * expected.size());
      if (member.rank == 1) noticed.store(false);
      // Only rank 1 has to notice.
      ASSERT_TRUE(member.plane.barrier(member.next()).ok());
      UntilNoticed others(noticed, 3000);
      NeverInterrupt mine;
      transport::Interrupt& interrupt =
          member.rank == 1 ? static_cast<transport::Interrupt&>(mine) : others;
      const absl::Status status = member.plane.alltoall(
          input, sent, output.data(), expected, {member.next().tag, interrupt});
      if (member.rank == 1) {
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
        noticed.store(true);
      }
    });
  }
}

TEST_P(PlaneConformance, FloatsAreBitEqualOnAllRanksAndInAllRuns) {
  GetParam()([](Member& member) {
    for (const DType dtype :
         {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage}) {
        random_floats_conform(member, {.dtype = dtype, .op = op}, 29);
        random_floats_conform(member, {.dtype = dtype, .op = op}, 1999);
      }
    }
  });
}

// Alone, first, in the middle, or last.
TEST_P(PlaneConformance, GivesATensorTheSameBitsInAnyFusion) {
  GetParam()([](Member& member) {
    std::vector<Reduction> reductions = {
        {.dtype = DType::kF32, .op = ReduceOp::kAverage},
        {.dtype = DType::kF64, .prescale = 0.3, .postscale = 1.7},
        {.dtype = DType::kF16}};
    if (member.plane.reduces_by(ReduceOp::kAdasum)) {
      reductions.push_back({.dtype = DType::kF64, .op = ReduceOp::kAdasum});
    }
    for (const Reduction& reduction : reductions) {
      for (const std::int64_t count : {1, 31, 700}) {
        if (!is_reduced_alike_in_any_company(member, reduction, count)) return;
      }
    }
  });
}

TEST_P(PlaneConformance, AllgatherPutsUnevenPartsInRankOrder) {
  GetParam()([](Member& member) {
    const auto ranks = static_cast<std::size_t>(member.ranks);
    for (const bool in_place : {false, true}) {
      for (const std::size_t size : std::vector<std::size_t>{0, 1, 37, 5000}) {
        std::vector<std::size_t> sizes(ranks, size);
        if (!allgather_conforms(member, sizes, in_place)) return;
        for (std::size_t r = 0; r < ranks; ++r) sizes[r] = size * r + r % 2;
        if (!allgather_conforms(member, sizes, in_place)) return;
        std::fill(sizes.begin(), sizes.end(), 0);
        sizes[ranks / 2] = size;
        if (!allgather_conforms(member, sizes, in_place)) return;
      }
    }
  });
}

TEST_P(PlaneConformance, AllgatherDetectsEqualParts) {
  GetParam()([](Member& member) {
    if (!member.plane.gathers_alike()) return;
    const auto ranks = static_cast<std::size_t>(member.ranks);
    for (const std::size_t size :
         std::vector<std::size_t>{0, 1, 37, 300, 5000}) {
      std::vector<std::size_t> sizes(ranks, size);
      if (!allgather_alike_conforms(member, sizes)) return;
      if (!allgather_alike_conforms(member, sizes, member.ranks - 1)) return;
      sizes[ranks / 2] += 4000;
      if (!allgather_alike_conforms(member, sizes)) return;
    }
  });
}

TEST_P(PlaneConformance, AlltoallDetectsEqualSizes) {
  GetParam()([](Member& member) {
    if (!member.plane.gathers_alike()) return;
    for (const std::size_t size :
         std::vector<std::size_t>{0, 1, 37, 300, 5000}) {
      const auto equal = [&](int, int) { return size; };
      const auto symmetric = [&](int from, int to) {
        return size + 100 * static_cast<std::size_t>(from * to);
      };
      const auto uneven = [&](int from, int to) {
        return from < to ? size + 4000 : size;
      };
      if (!alltoall_alike_conforms(member, equal) ||
          !alltoall_alike_conforms(member, equal, member.ranks - 1) ||
          !alltoall_alike_conforms(member, symmetric) ||
          !alltoall_alike_conforms(member, uneven)) {
        return;
      }
    }
  });
}

TEST_P(PlaneConformance, BroadcastReachesEveryRankFromEveryRoot) {
  GetParam()([](Member& member) {
    for (int root = 0; root < member.ranks; ++root) {
      for (const std::size_t size :
           std::vector<std::size_t>{0, 1, 37, 256, 5000}) {
        for (const bool in_place : {false, true}) {
          if (!broadcast_conforms(member, size, root, in_place)) return;
        }
      }
    }
  });
}

TEST_P(PlaneConformance, BarrierWaitsForAllRanks) {
  // Indexed by number of ranks: runs of a fleet do not share a counter.
  std::array<std::atomic<int>, 65> came = {};
  GetParam()([&](Member& member) {
    std::atomic<int>& count = came[static_cast<std::size_t>(member.ranks)];
    for (int round = 1; round <= 20; ++round) {
      ++count;
      ASSERT_TRUE(member.plane.barrier(member.next()).ok());
      ASSERT_GE(count.load(), round * member.ranks_here);
    }
  });
}

TEST_P(PlaneConformance, CallsOfAllKindsFollowEachOtherAtAnyPace) {
  GetParam()([](Member& member) {
    std::mt19937 plan(17);  // Equal on all ranks.
    std::mt19937 pace(static_cast<unsigned>(member.rank));  // Differs.
    for (int call = 0; call < 150; ++call) {
      for (auto pause = pace() % 4; pause > 0; --pause) {
        std::this_thread::yield();
      }
      const std::size_t size = plan() % 5 == 0 ? 3000 : plan() % 300;
      const int root = static_cast<int>(plan() % 64) % member.ranks;
      const std::vector<std::size_t> sizes(
          static_cast<std::size_t>(member.ranks), size);
      const AllreduceCase reduce = {{.dtype = DType::kF32},
                                    cut(static_cast<std::int64_t>(size), true)};
      bool well = true;
      switch (plan() % 7) {
        case 5:
          well = alltoall_conforms(member, [&](int from, int to) {
            return from == root ? size : static_cast<std::size_t>(to);
          });
          break;
        case 6:
          well = reducescatter_conforms(
              member, {.dtype = DType::kF32},
              {parts_of(static_cast<std::int64_t>(size), member.ranks, 2)});
          break;
        case 0:
          well = allgather_conforms(member, sizes, false);
          break;
        case 1:
          well = broadcast_conforms(member, size, root, false);
          break;
        case 2:
          well = member.plane.barrier(member.next()).ok();
          break;
        default:
          well = allreduce_conforms(member, reduce);
      }
      ASSERT_TRUE(well) << "call " << call;
    }
  });
}

TEST_P(PlaneConformance, RefusesInvalidCallsAndGoesOn) {
  GetParam()([](Member& member) {
    using ::absl::StatusCode;
    DataPlane& plane = member.plane;
    bool truth = true;
    std::byte byte{};
    const Piece piece = {&truth, &truth, 1};
    const auto code = [](const absl::Status& status) { return status.code(); };
    EXPECT_EQ(
        code(plane.allreduce({&piece, 1},
                             {.dtype = DType::kBool, .op = ReduceOp::kAverage},
                             member.next())),
        StatusCode::kInvalidArgument);
    EXPECT_EQ(
        code(plane.broadcast(&byte, &byte, 1, member.ranks, member.next())),
        StatusCode::kInvalidArgument);
    EXPECT_EQ(code(plane.broadcast(&byte, &byte, 1, -1, member.next())),
              StatusCode::kInvalidArgument);
    std::vector<std::size_t> sizes(static_cast<std::size_t>(member.ranks), 2);
    EXPECT_EQ(code(plane.allgather({&byte, 1}, sizes, nullptr, member.next())),
              StatusCode::kInvalidArgument);
    sizes.push_back(1);
    EXPECT_EQ(code(plane.allgather({&byte, 1}, sizes, nullptr, member.next())),
              StatusCode::kInvalidArgument);
    const std::vector<std::int64_t> counts(
        static_cast<std::size_t>(member.ranks), 1);
    const Piece whole = {&truth, &truth, member.ranks + 1};
    EXPECT_EQ(code(plane.reducescatter({&whole, 1}, counts,
                                       {.dtype = DType::kBool}, member.next())),
              StatusCode::kInvalidArgument);
    const std::vector<std::size_t> none(static_cast<std::size_t>(member.ranks));
    EXPECT_EQ(
        code(plane.alltoall({&byte, 1}, none, &byte, none, member.next())),
        StatusCode::kInvalidArgument);
    EXPECT_TRUE(plane.barrier(member.next()).ok());
  });
}

TEST_P(PlaneConformance, AFailingInterruptEndsTheCallOfAllWaiters) {
  GetParam()([](Member& member) {
    ASSERT_TRUE(member.plane.barrier(member.next()).ok());
    if (member.rank == 0) return;  // Never enters.
    FailingInterrupt interrupt(100 * member.rank);
    Tensors tensors(DType::kF32, {3000});
    const std::vector<Bytes> before = tensors.inputs;
    const Call call = {member.next().tag, interrupt};
    const bool adds = !member.plane.reduces_by(ReduceOp::kAdasum);
    const Reduction reduction = {.op =
                                     adds ? ReduceOp::kSum : ReduceOp::kAdasum};
    const absl::Status status =
        member.plane.allreduce(tensors.pieces(false), reduction, call);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(status.message(), "rank 7 was killed by signal 9");
    EXPECT_EQ(tensors.inputs, before);
    EXPECT_EQ(member.plane.barrier(member.next()), status);
  });
}

}  // namespace
}  // namespace hvd::collective
