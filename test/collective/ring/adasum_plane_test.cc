// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/adasum_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "test/collective/adasum_reference.h"
#include "test/collective/conformance_suite.h"
#include "test/collective/set_suite.h"
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
      const std::vector<int> members = [&] {
        std::vector<int> all(static_cast<std::size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        return all;
      }();
      AdasumPlane plane(communicator, members, test_waiting(ranks), options);
      NeverInterrupt interrupt;
      Member member = {plane, communicator.rank(), ranks, ranks, interrupt, {}};
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
  void run(const Body& body) { on_adasum({1, 2, 3}, body); }
};

// Other ops use the ring or the shared-memory plane.
INSTANTIATE_TYPED_TEST_SUITE_P(AdasumOfThreads, PlaneConformance,
                               AdasumOfThreads);

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

TEST(AdasumPlane, AveragesWhatIsParallelAndSumsWhatIsOrthogonal) {
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

TEST(AdasumPlane, ARankWithZerosChangesNothing) {
  on_adasum({2, 3, 6}, [](Member& member) {
    for (int lone = 0; lone < member.ranks; ++lone) {
      for (const DType dtype : kFloatingTypes) {
        const AdasumCase test = {
            .dtype = dtype,
            .counts = {33, 5},
            .values = [lone](int rank, std::size_t p, std::int64_t i) {
              return rank == lone ? mixed_value(rank, p, i) : 0.0;
            }};
        const auto results = adasum_results(member, test);
        for (std::int64_t i = 0; i < 33; ++i) {
          EXPECT_EQ(get(dtype, results[0].data(), i), test.rounded(lone, 0, i));
        }
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

TEST(AdasumPlane, NeverBlocksItselfWhateverTheDepth) {
  for (const int depth : {1, 2, 4}) {
    on_adasum({2, 3, 4, 7},
              [](Member& member) {
                for (const std::int64_t count : {1, 15, 64, 333, 1024}) {
                  if (!adasum_conforms(member, {.counts = {count, 2}})) return;
                }
              },
              {.ring = {.chunk_bytes = 64, .depth = depth}});
  }
}

TEST(AdasumPlane, ConnectsSomeRanksInAnyOrderBesideOthers) {
  on_loopback(5, [](transport::Communicator& communicator) {
    const std::vector<int> odd = {3, 1};
    const std::vector<int> even = {2, 0, 4};
    const bool is_odd = communicator.rank() % 2 == 1;
    const std::vector<int>& members = is_odd ? odd : even;
    const auto position =
        std::find(members.begin(), members.end(), communicator.rank()) -
        members.begin();
    AdasumPlane plane(communicator, members, test_waiting(5), kSmallAdasum);
    NeverInterrupt interrupt;
    Member member = {plane,
                     static_cast<int>(position),
                     static_cast<int>(members.size()),
                     1,
                     interrupt,
                     {}};
    member.sequence = is_odd ? 1000 : 2000;
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(adasum_conforms(member, {.counts = {500, 3}}));
      ASSERT_TRUE(allreduce_conforms(member, {{.dtype = DType::kI16}, {500}}));
    }
  });
}

TEST(AdasumPlane, ACallThatSomeoneNeverEntersIsGivenUpWithoutTrace) {
  on_adasum({2, 3, 4, 5}, [](Member& member) {
    std::mt19937 pace(static_cast<unsigned>(member.rank));
    for (int round = 0; round < 40; ++round, ++member.epoch) {
      const int absent = round % member.ranks;
      const std::int64_t count = round % 4 == 0 ? 3000 : round % 7;
      const bool in_place = round % 3 == 0;
      member.sequence = static_cast<std::uint32_t>(round);
      FailingInterrupt interrupt(static_cast<int>(pace() % 40),
                                 absl::CancelledError("somebody stays away"));
      Tensors tensors(DType::kF32, {count, 2000, 0, 1});
      const Tensors before = tensors;
      const Call call = {member.next().tag, interrupt};
      if (member.rank != absent) {
        ASSERT_TRUE(absl::IsCancelled(member.plane.allreduce(
            tensors.pieces(in_place), {.op = ReduceOp::kAdasum}, call)));
      }
      ASSERT_EQ(tensors.inputs, before.inputs);
      ASSERT_EQ(tensors.outputs, before.outputs);
      ++member.epoch;
      ASSERT_TRUE(adasum_conforms(member, {.counts = {count, 40}}));
    }
  });
}

TEST(AdasumPlane, AFailingInterruptEndsTheCallAndThePlane) {
  on_adasum({2, 3, 5}, [](Member& member) {
    if (member.rank == 0) return;  // Never enters.
    FailingInterrupt interrupt(50 * member.rank);
    Tensors tensors(DType::kF32, {3000});
    const std::vector<Bytes> before = tensors.inputs;
    const absl::Status status =
        member.plane.allreduce(tensors.pieces(true), {.op = ReduceOp::kAdasum},
                               {member.next().tag, interrupt});
    EXPECT_EQ(status.message(), "rank 7 was killed by signal 9");
    EXPECT_EQ(tensors.inputs, before);
    EXPECT_EQ(member.plane.barrier(member.next()), status);
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

// Calls of overlapping sets in one order, with Adasum and other ops. Some calls
// a member never enters.
TEST(ShmAdasumPlane, SetsOfRanksThatOverlapDoNotDisturbEachOther) {
  const auto body = [](Member& member) {
    constexpr int kCalls = 300;
    std::mt19937 plan(31);  // Equal on all ranks.
    std::map<std::vector<int>, std::unique_ptr<DataPlane>> planes;
    for (int number = 0; number < kCalls; ++number, ++member.sequence) {
      const SetCall call = SetCall::next(plan, member.ranks, 6);
      const std::uint32_t epoch = member.epoch;
      if (call.absent >= 0) ++member.epoch;
      const auto place =
          std::find(call.members.begin(), call.members.end(), member.rank);
      if (place == call.members.end()) continue;
      auto& plane = planes[call.members];
      if (plane == nullptr) plane = member.plane_between(call.members);
      Member part = {*plane,
                     static_cast<int>(place - call.members.begin()),
                     static_cast<int>(call.members.size()),
                     1,
                     member.interrupt,
                     {},
                     epoch,
                     member.sequence};
      if (call.absent < 0) {
        const AdasumCase adasum = {.counts = {call.size, 3, call.size / 2}};
        ASSERT_TRUE(call.kind < 4 ? adasum_conforms(part, adasum)
                                  : call.conforms(part))
            << "call " << number;
      } else if (part.rank != call.absent) {
        FailingInterrupt interrupt(number % 40,
                                   absl::CancelledError("somebody stays away"));
        Tensors tensors(DType::kF32, {call.size, 1});
        const Tensors before = tensors;
        ASSERT_TRUE(absl::IsCancelled(plane->allreduce(
            tensors.pieces(number % 2 == 0), {.op = ReduceOp::kAdasum},
            {part.next().tag, interrupt})));
        ASSERT_EQ(tensors.inputs, before.inputs);
        ASSERT_EQ(tensors.outputs, before.outputs);
      }
    }
  };
  for (const int ranks : {2, 3, 4, 6}) {
    on_loopback(ranks, [&](transport::Communicator& communicator) {
      run_on_shm_adasum(communicator, ranks, body, {.shm = kSmallShm});
    });
  }
}

TEST(ShmAdasumPlane, ConformsBetweenSomeOfTheRanksOfANode) {
  for (const int ranks : {3, 4, 7}) {
    on_loopback(ranks, [&](transport::Communicator& communicator) {
      run_on_shm_adasum(
          communicator, ranks,
          [](Member& member) {
            for (int absent = 0; absent < member.ranks; ++absent) {
              if (absent == member.rank) continue;
              std::vector<int> members;
              for (int r = 0; r < member.ranks; ++r) {
                if (r != absent) members.push_back(r);
              }
              const auto plane = member.plane_between(members);
              Member part = {*plane,
                             member.rank - (member.rank > absent ? 1 : 0),
                             member.ranks - 1,
                             1,
                             member.interrupt,
                             {}};
              part.sequence = static_cast<std::uint32_t>(1000 * absent);
              for (const DType dtype : kFloatingTypes) {
                ASSERT_TRUE(adasum_conforms(
                    part, {.dtype = dtype, .counts = {1, 5000, 0, 30}}));
              }
            }
          },
          {.shm = kSmallShm});
    });
  }
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
