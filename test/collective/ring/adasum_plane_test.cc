// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/adasum_plane.h"

#include <gtest/gtest.h>

#include <memory>

#include "test/collective/adasum_reference.h"
#include "test/collective/conformance.h"
#include "test/collective/fused_calls.h"
#include "test/collective/shm/adasum_fleet.h"

namespace hvd::collective {
namespace {

constexpr AdasumOptions kSmallAdasum = {.ring = kSmallRing,
                                        .round_bytes = 4096};

// Runs `body` with a plane over wires, for each number of ranks in `sizes`.
void on_wires(const std::vector<int>& sizes, const Body& body,
              const AdasumOptions& options = kSmallAdasum) {
  for (const int ranks : sizes) {
    on_loopback(ranks, [&](transport::Communicator& communicator) {
      const auto plane_between = [&](std::vector<int> members) {
        return std::make_unique<AdasumPlane>(communicator, std::move(members),
                                             test_waiting(ranks), options);
      };
      std::vector<int> all(static_cast<std::size_t>(ranks));
      std::iota(all.begin(), all.end(), 0);
      const auto plane = plane_between(std::move(all));
      NeverInterrupt interrupt;
      Member member = {*plane, communicator.rank(), ranks,
                       ranks,  interrupt,           plane_between};
      body(member);
    });
  }
}

// Also with a plane through shared memory.
void on_adasum(const std::vector<int>& sizes, const Body& body,
               const AdasumOptions& options = kSmallAdasum) {
  on_wires(sizes, body, options);
  const ShmOptions shm =
      options.ring.chunk_bytes < RingOptions().chunk_bytes
          ? ShmOptions{.chunk_bytes = 2 * options.ring.chunk_bytes,
                       .small_bytes = 128}
          : ShmOptions();
  for (const int ranks : sizes) {
    on_loopback(ranks, [&](transport::Communicator& communicator) {
      run_on_shm_adasum(communicator, ranks, body,
                        {.shm = shm, .round_bytes = options.round_bytes});
    });
  }
}

class AdasumOfThreads {
 public:
  void run(const Body& body) { on_adasum({1, 2, 3, 4}, body); }
};

// Other ops use the ring or the shared-memory plane. A call or a set that
// could use Adasum does.
INSTANTIATE_TEST_SUITE_P(AdasumOfThreads, PlaneConformance,
                         of_fleet<AdasumOfThreads>());
INSTANTIATE_TEST_SUITE_P(AdasumOfThreads, SetConformance,
                         of_fleet<AdasumOfThreads>());

const std::vector<int> kUpToNine = {1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(AdasumPlane, FollowsTheFormulaForAnyTypeSizeAndNumberOfRanks) {
  on_adasum(kUpToNine, [](Member& member) {
    for (const DType dtype : kFloatingTypes) {
      for (const std::int64_t count : {0, 1, 3, 1000}) {
        for (const bool in_place : {false, true}) {
          if (!adasum_conforms(
                  member,
                  {.dtype = dtype, .counts = {count}, .in_place = in_place})) {
            return;
          }
        }
      }
    }
  });
}

TEST(AdasumPlane, FollowsTheFormulaInDefaultChunks) {
  on_adasum(
      {2, 3, 5},
      [](Member& member) {
        for (const DType dtype : {DType::kF16, DType::kF32}) {
          if (!adasum_conforms(member, {.dtype = dtype, .counts = {100'000}})) {
            return;
          }
        }
      },
      {});
}

TEST(AdasumPlane, MergesEachTensorOfAFusedCallByItself) {
  // In one round and in several.
  for (const std::size_t round_bytes : {0u, 200u, 4096u, 1u << 20}) {
    on_adasum(
        {2, 3, 4, 7},
        [](Member& member) {
          // Tensors of very different magnitudes and lengths, one all zero.
          const Values values = [](int rank, std::size_t p, std::int64_t i) {
            if (p == 2) return 0.0;
            return std::ldexp(mixed_value(rank, p, i), static_cast<int>(p) - 3);
          };
          for (const DType dtype : kFloatingTypes) {
            const std::vector<std::int64_t> counts = {0,   3, 40, 1, 0,
                                                      700, 2, 5,  1, 0};
            if (!adasum_conforms(member, {dtype, counts, values, false}) ||
                !adasum_conforms(member, {dtype, counts, values, true})) {
              return;
            }
          }
        },
        {.ring = kSmallRing, .round_bytes = round_bytes});
  }
}

TEST(AdasumPlane, AveragesParallelAndSumsOrthogonalVectors) {
  on_adasum(kUpToNine, [](Member& member) {
    for (const DType dtype : kFloatingTypes) {
      AdasumCase test = {.dtype = dtype, .counts = {64, 9}};
      test.values = [](int, std::size_t, std::int64_t i) {
        return static_cast<double>(i % 5 - 2);
      };
      const auto parallel = adasum_results(member, test);
      test.values = [](int rank, std::size_t, std::int64_t i) {
        return i % 9 == rank ? static_cast<double>(rank + 1) : 0.0;
      };
      const auto orthogonal = adasum_results(member, test);
      for (std::int64_t i = 0; i < 64; ++i) {
        EXPECT_EQ(get(dtype, parallel[0].data(), i),
                  static_cast<double>(i % 5 - 2));
        EXPECT_EQ(get(dtype, orthogonal[0].data(), i),
                  i % 9 < member.ranks ? static_cast<double>(i % 9 + 1) : 0.0);
      }
    }
  });
}

TEST(AdasumPlane, HugeAndSmallNumbersFollowTheFormulaToo) {
  on_adasum({2, 3, 4}, [](Member& member) {
    const auto times = [](double unit) {
      return [unit](int rank, std::size_t p, std::int64_t i) {
        return unit * mixed_value(rank, p, i);
      };
    };
    const std::pair<DType, double> units[] = {
        {DType::kF64, 1e300},  {DType::kF64, 1e-300}, {DType::kF64, 1e-320},
        {DType::kF32, 1e37},   {DType::kF32, 1e-38},  {DType::kF32, 1e-43},
        {DType::kBF16, 1e37},  {DType::kBF16, 1e-38}, {DType::kF16, 1e3},
        {DType::kF16, 0x1p-20}};
    for (const auto& [dtype, unit] : units) {
      if (!adasum_conforms(member, {dtype, {100, 3}, times(unit)})) return;
    }
    // Ranks of very different magnitudes.
    const Values steep = [](int rank, std::size_t p, std::int64_t i) {
      return mixed_value(rank, p, i) * std::pow(1e150, rank % 3 - 1);
    };
    adasum_conforms(member, {DType::kF64, {100, 3}, steep});
  });
}

TEST(AdasumPlane, ScalesBeforeAndAfter) {
  on_adasum({1, 2, 3, 5}, [](Member& member) {
    for (const DType dtype : kFloatingTypes) {
      AdasumCase test = {.dtype = dtype, .counts = {50, 7}};
      test.prescale = 0.25;
      test.postscale = 3;
      if (!adasum_conforms(member, test)) return;
    }
    // Between the scales, values have the range of the accumulators.
    adasum_conforms(member, {.dtype = DType::kF16,
                             .counts = {50},
                             .prescale = 0x1p20,
                             .postscale = 0x1p-20});
  });
}

TEST(AdasumPlane, GivesTheSameBitsOnAllRanksAndInAllRuns) {
  on_adasum({2, 3, 4, 5, 8}, [](Member& member) {
    std::mt19937 pace(static_cast<unsigned>(member.rank));
    for (const DType dtype : kFloatingTypes) {
      const AdasumCase test = {.dtype = dtype, .counts = {1, 333, 4, 900}};
      std::vector<Bytes> first;
      for (int run = 0; run < 4; ++run) {
        for (auto pause = pace() % 4; pause > 0; --pause) {
          std::this_thread::yield();
        }
        const auto results = adasum_results(member, test);
        if (run == 0) first = results;
        ASSERT_EQ(results, first);
      }
      for (const Bytes& tensor : first) {
        ASSERT_TRUE(equal_on_all_ranks(member, tensor));
      }
    }
  });
}

TEST(AdasumPlane, RefusesIntegersAndPartsOfResultsAndGoesOn) {
  on_adasum({1, 3}, [](Member& member) {
    for (const DType dtype : kAllDTypes) {
      const auto ranks = static_cast<std::size_t>(member.ranks);
      Tensors tensors(dtype, {member.ranks});
      const Reduction adasum = {.dtype = dtype, .op = ReduceOp::kAdasum};
      const std::vector<std::int64_t> counts(ranks, 1);
      EXPECT_TRUE(absl::IsInvalidArgument(member.plane.reducescatter(
          tensors.pieces(false), counts, adasum, member.next())));
      if (is_floating_point(dtype)) continue;
      EXPECT_TRUE(absl::IsInvalidArgument(member.plane.allreduce(
          tensors.pieces(false), adasum, member.next())));
    }
    EXPECT_TRUE(adasum_conforms(member, {.counts = {10}}));
  });
}

// More dot products than a slot can hold.
TEST(ShmAdasumPlane, MergesVeryManySmallTensorsByThemselves) {
  for (const int ranks : {2, 5}) {
    on_loopback(ranks, [&](transport::Communicator& communicator) {
      run_on_shm_adasum(
          communicator, ranks,
          [](Member& member) {
            const std::vector<std::int64_t> counts(200, 3);
            EXPECT_TRUE(adasum_conforms(member, {.counts = counts}));
          },
          {.shm = kSmallShm});
    });
  }
}

TEST(AdasumPlane, IsLeftAdasumByTheOtherPlanes) {
  const auto leaves_it = [](Member& member) {
    EXPECT_FALSE(member.plane.reduces_by(ReduceOp::kAdasum));
    EXPECT_TRUE(member.plane.reduces_by(ReduceOp::kSum));
    Tensors tensors(DType::kF32, {3});
    EXPECT_TRUE(absl::IsUnimplemented(member.plane.allreduce(
        tensors.pieces(false), {.op = ReduceOp::kAdasum}, member.next())));
    EXPECT_TRUE(member.plane.barrier(member.next()).ok());
  };
  RingOfThreads().run(leaves_it);
  ShmOfThreads().run(leaves_it);
}

}  // namespace
}  // namespace hvd::collective
