// SPDX-License-Identifier: Apache-2.0
// The contract of planes that share a medium, and of abandoned calls
// (conformance.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "test/collective/adasum_reference.h"
#include "test/collective/conformance.h"
#include "test/collective/conforming_calls.h"
#include "test/collective/doomed_call.h"

namespace hvd::collective {

namespace {

// A call between some of the ranks, equal on all ranks that know its number.
struct SetCall {
  std::vector<int> members;
  int kind;
  std::int64_t size;
  int absent;  // The index of a member that never enters the call, or -1.

  // In one call of `chance`, a member stays away.
  static SetCall next(std::mt19937& plan, int ranks, unsigned chance) {
    SetCall call;
    const auto set = 1 + plan() % ((1u << ranks) - 1);
    for (int r = 0; r < ranks; ++r) {
      if ((set >> r & 1) != 0) call.members.push_back(r);
    }
    call.kind = static_cast<int>(plan() % 8);
    call.size =
        static_cast<std::int64_t>(plan() % 4 == 0 ? 2000 : plan() % 100);
    call.absent = static_cast<int>(plan() % call.members.size());
    const bool doomed = plan() % chance == 0 && call.members.size() > 1;
    if (!doomed) call.absent = -1;
    return call;
  }

  bool conforms(Member& member) const {
    const auto bytes = static_cast<std::size_t>(size);
    const std::vector<std::size_t> sizes(members.size(), bytes);
    switch (kind) {
      case 0:
        return allgather_conforms(member, sizes, false);
      case 1:
        return broadcast_conforms(member, bytes, member.ranks - 1, false);
      case 2:
        return alltoall_conforms(member, [&](int, int) { return bytes; });
      case 3:
        return reducescatter_conforms(member, {},
                                      {parts_of(size, member.ranks, 0)});
      case 4:
        return member.plane.gathers_alike()
                   ? allgather_alike_conforms(member, sizes)
                   : allgather_conforms(member, sizes, true);
      case 5:
        return !member.plane.gathers_alike() ||
               alltoall_alike_conforms(member, [&](int, int) { return bytes; });
      case 6:
        if (member.plane.reduces_by(ReduceOp::kAdasum)) {
          return adasum_conforms(member, {.counts = {size, 3, size / 2}});
        }
        [[fallthrough]];
      default:
        return allreduce_conforms(member, {{.dtype = DType::kI32}, {size}});
    }
  }
};

// Calls of random sets of ranks. All ranks agree on the order; each rank makes
// its own calls at its own pace.
void sets_conform(Member& member, unsigned chance) {
  constexpr int kCalls = 300;
  std::mt19937 plan(23);
  std::mt19937 pace(static_cast<unsigned>(member.rank));
  std::map<std::vector<int>, std::unique_ptr<DataPlane>> planes;
  for (int number = 0; number < kCalls; ++number, member.sequence += 2) {
    const SetCall call = SetCall::next(plan, member.ranks, chance);
    const std::uint32_t epoch = member.epoch;
    if (call.absent >= 0) ++member.epoch;
    const auto place =
        std::find(call.members.begin(), call.members.end(), member.rank);
    if (place == call.members.end()) continue;
    for (auto pause = pace() % 4; pause > 0; --pause) {
      std::this_thread::yield();
    }
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
    const bool well =
        call.absent < 0 ? call.conforms(part)
                        : part.rank == call.absent ||
                              is_given_up_without_trace(
                                  part,
                                  DoomedCall::numbered(
                                      static_cast<unsigned>(number), call.size),
                                  static_cast<int>(pace() % 40));
    ASSERT_TRUE(well) << "call " << number;
    // Planes are destroyed and created during the run.
    if (pace() % 8 == 0) planes.erase(call.members);
  }
}

// Jobs without MPI do not instantiate it.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SetConformance);

TEST_P(SetConformance, SetsOfRanksThatOverlapDoNotDisturbEachOther) {
  constexpr unsigned kNever = 1'000'000'000;
  GetParam()([](Member& member) { sets_conform(member, kNever); });
}

TEST_P(SetConformance, CallsOfOverlappingSetsCanBeGivenUpAmongOthers) {
  GetParam()([](Member& member) { sets_conform(member, 5); });
}

TEST_P(SetConformance, ACallWithAnAbsentRankLeavesNoTrace) {
  GetParam()([](Member& member) {
    if (member.ranks == 1) return;  // No other rank can stay away.
    std::mt19937 pace(static_cast<unsigned>(member.rank));
    // DoomedCall::numbered() has 42 calls; each runs twice.
    for (unsigned round = 0; round < 84; ++round) {
      const int absent = static_cast<int>(round / 2) % member.ranks;
      const std::int64_t count = round % 5 == 0 ? 3000 : round % 9 * 8;
      const int checks = static_cast<int>(pace() % 40);
      ASSERT_TRUE(member.rank == absent ||
                  is_given_up_without_trace(
                      member, DoomedCall::numbered(round, count), checks))
          << "round " << round;
      ++member.epoch;
      member.sequence = round;
      if (round % 4 == 3) continue;  // Several in a row.
      const std::vector<std::size_t> sizes(
          static_cast<std::size_t>(member.ranks), 700);
      const bool well =
          allreduce_conforms(member, {{.dtype = DType::kI32}, {count}}) &&
          allgather_conforms(member, sizes, false);
      ASSERT_TRUE(well) << "round " << round;
    }
  });
}

// A rank that goes on must not be matched with ranks that still wait in the
// previous call.
TEST_P(SetConformance, BroadcastAndAlltoallLeaveThePlaneUsableToo) {
  GetParam()([](Member& member) {
    if (member.ranks == 1) return;
    const auto ranks = static_cast<std::size_t>(member.ranks);
    for (int round = 0; round < 12; ++round, ++member.epoch) {
      const int absent = round % member.ranks;
      FailingInterrupt interrupt(round,
                                 absl::CancelledError("somebody stays away"));
      const Call call = {member.next().tag, interrupt};
      const std::vector<std::size_t> sizes(ranks, 400);
      const Bytes input = bytes_of(member.rank, ranks * 400);
      Bytes output(input.size());
      if (member.rank != absent) {
        const absl::Status status =
            round % 2 == 0 ? member.plane.broadcast(input.data(), output.data(),
                                                    input.size(), absent, call)
                           : member.plane.alltoall(input, sizes, output.data(),
                                                   sizes, call);
        ASSERT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
      }
      ++member.epoch;
      ASSERT_TRUE(broadcast_conforms(member, 900, absent, false));
      ASSERT_TRUE(alltoall_conforms(member, [](int, int) { return 77u; }));
    }
  });
}

}  // namespace
}  // namespace hvd::collective
