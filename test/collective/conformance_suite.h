// What every plane promises, as tests over a Fleet (see fleets.h):
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Ring, PlaneConformance, RingOfThreads);
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "test/collective/fleets.h"
#include "test/collective/reference.h"

namespace hvd::collective {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(int rank, std::size_t count, int salt = 0) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(
        i * 31 + i / 256 + static_cast<std::size_t>(rank * 57 + salt));
  }
  return bytes;
}

// The memory of one rank's part in an allreduce: a block for each piece, of
// exactly its size.
struct Tensors {
  DType dtype;
  std::vector<std::int64_t> counts;
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;

  Tensors(DType type, std::vector<std::int64_t> piece_counts)
      : dtype(type), counts(std::move(piece_counts)) {
    for (const std::int64_t count : counts) {
      inputs.emplace_back(static_cast<std::size_t>(count) * size_of(dtype));
      outputs.emplace_back(inputs.back().size(), std::byte{0x5a});
    }
  }

  std::vector<Piece> pieces(bool in_place) {
    std::vector<Piece> result;
    for (std::size_t p = 0; p < counts.size(); ++p) {
      result.push_back(
          {.input = inputs[p].data(),
           .output = in_place ? inputs[p].data() : outputs[p].data(),
           .count = counts[p]});
    }
    return result;
  }

  // Calls f(piece, index in the piece, index in the whole).
  template <typename F>
  void for_each(F f) const {
    std::int64_t whole = 0;
    for (std::size_t p = 0; p < counts.size(); ++p) {
      for (std::int64_t i = 0; i < counts[p]; ++i) f(p, i, whole++);
    }
  }
};

struct AllreduceCase {
  Reduction reduction;
  std::vector<std::int64_t> counts;
  bool in_place = false;

  std::string describe() const {
    std::string text = collective::describe(reduction);
    absl::StrAppend(&text, in_place ? ", in place, pieces of" : ", pieces of");
    for (const std::int64_t count : counts) absl::StrAppend(&text, " ", count);
    return text;
  }
};

// Runs the case and holds every element to the reference. False, after one
// failure, if something is wrong.
inline bool allreduce_conforms(Member& member, const AllreduceCase& test) {
  const Reduction& reduction = test.reduction;
  const DType dtype = reduction.dtype;
  Tensors tensors(dtype, test.counts);
  tensors.for_each([&](std::size_t p, std::int64_t i, std::int64_t whole) {
    put(dtype, tensors.inputs[p].data(), i,
        small_value(dtype, reduction.op, member.rank, whole));
  });
  const std::vector<Bytes> before = tensors.inputs;
  const absl::Status status = member.plane.allreduce(
      tensors.pieces(test.in_place), reduction, member.next());
  if (!status.ok()) {
    ADD_FAILURE() << test.describe() << ": " << status;
    return false;
  }
  const double tolerance =
      reduction.op == ReduceOp::kAverage ? epsilon(dtype) : 0;
  std::string wrong;
  std::vector<double> values(static_cast<std::size_t>(member.ranks));
  tensors.for_each([&](std::size_t p, std::int64_t i, std::int64_t whole) {
    for (int r = 0; r < member.ranks; ++r) {
      values[static_cast<std::size_t>(r)] =
          small_value(dtype, reduction.op, r, whole);
    }
    const double expected = reference(reduction, values);
    const auto& results = test.in_place ? tensors.inputs : tensors.outputs;
    const double result = get(dtype, results[p].data(), i);
    if (!(std::abs(result - expected) <= tolerance * std::abs(expected)) &&
        wrong.empty()) {
      wrong = absl::StrCat("element ", i, " of piece ", p, " is ", result,
                           " and not ", expected);
    }
  });
  if (wrong.empty() && !test.in_place && tensors.inputs != before) {
    wrong = "the inputs have changed";
  }
  if (wrong.empty()) return true;
  ADD_FAILURE() << test.describe() << " on rank " << member.rank << " of "
                << member.ranks << ": " << wrong;
  return false;
}

// `count` elements as one tensor, or as several with empty ones among them.
inline std::vector<std::int64_t> cut(std::int64_t count, bool fused) {
  if (!fused) return {count};
  const std::int64_t third = count / 3;
  const std::int64_t one = std::min<std::int64_t>(1, count - third);
  return {0, third, 0, 0, one, count - third - one, 0};
}

inline std::vector<Reduction> all_reductions() {
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

template <typename Fleet>
class PlaneConformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(PlaneConformance);

TYPED_TEST_P(PlaneConformance, AllreduceEqualsTheReference) {
  TypeParam().run([](Member& member) {
    for (const Reduction& reduction : all_reductions()) {
      for (const std::int64_t count : {0, 1, 37, 1001}) {
        for (const bool in_place : {false, true}) {
          for (const bool fused : {false, true}) {
            const AllreduceCase test = {reduction, cut(count, fused), in_place};
            if (!allreduce_conforms(member, test)) return;
          }
        }
      }
    }
  });
}

// Whether all ranks have the same bytes; every rank calls it.
inline bool equal_on_all_ranks(Member& member, const Bytes& mine) {
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(member.ranks),
                                       mine.size());
  Bytes all(mine.size() * sizes.size());
  const absl::Status status =
      member.plane.allgather(mine, sizes, all.data(), member.next());
  EXPECT_TRUE(status.ok()) << status;
  for (auto part = all.begin(); part != all.end();) {
    if (!std::equal(mine.begin(), mine.end(), part)) return false;
    part += static_cast<std::ptrdiff_t>(mine.size());
  }
  return status.ok();
}

// Reduces random numbers in [-1, 1): near the sum in double, with the same bits
// everywhere and again.
inline void random_floats_conform(Member& member, const Reduction& reduction,
                                  std::int64_t count) {
  const DType dtype = reduction.dtype;
  std::mt19937 random(static_cast<unsigned>(count));
  std::uniform_real_distribution<double> unit(-1, 1);
  Tensors tensors(dtype, {count});
  std::vector<double> expected(static_cast<std::size_t>(count));
  Bytes rounded(size_of(dtype));
  for (int r = 0; r < member.ranks; ++r) {
    for (std::int64_t i = 0; i < count; ++i) {
      put(dtype, rounded.data(), 0, unit(random));
      const double value = get(dtype, rounded.data(), 0);
      expected[static_cast<std::size_t>(i)] += value;
      if (r == member.rank) put(dtype, tensors.inputs[0].data(), i, value);
    }
  }
  const double divisor = reduction.op == ReduceOp::kAverage ? member.ranks : 1;
  Bytes first;
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(
        member.plane.allreduce(tensors.pieces(false), reduction, member.next())
            .ok());
    if (run == 0) first = tensors.outputs[0];
  }
  EXPECT_EQ(tensors.outputs[0], first) << describe(reduction);
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_NEAR(get(dtype, first.data(), i),
                expected[static_cast<std::size_t>(i)] / divisor,
                4 * epsilon(dtype))
        << describe(reduction);
  }
  EXPECT_TRUE(equal_on_all_ranks(member, first)) << describe(reduction);
}

TYPED_TEST_P(PlaneConformance, FloatsAreBitEqualOnAllRanksAndInAllRuns) {
  TypeParam().run([](Member& member) {
    for (const DType dtype :
         {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage}) {
        random_floats_conform(member, {.dtype = dtype, .op = op}, 29);
        random_floats_conform(member, {.dtype = dtype, .op = op}, 1999);
      }
    }
  });
}

inline bool allgather_conforms(Member& member,
                               const std::vector<std::size_t>& sizes,
                               bool in_place) {
  Bytes expected;
  std::size_t place = 0;
  for (int r = 0; r < member.ranks; ++r) {
    const Bytes part = bytes_of(r, sizes[static_cast<std::size_t>(r)]);
    if (r == member.rank) place = expected.size();
    expected.insert(expected.end(), part.begin(), part.end());
  }
  Bytes mine =
      bytes_of(member.rank, sizes[static_cast<std::size_t>(member.rank)]);
  Bytes output(expected.size(), std::byte{0x5a});
  std::span<const std::byte> input = mine;
  if (in_place) {
    std::copy(mine.begin(), mine.end(),
              output.begin() + static_cast<std::ptrdiff_t>(place));
    input = {output.data() + place, mine.size()};
  }
  const absl::Status status =
      member.plane.allgather(input, sizes, output.data(), member.next());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(output == expected)
      << "allgather on rank " << member.rank << " of " << member.ranks;
  return status.ok() && output == expected;
}

TYPED_TEST_P(PlaneConformance, AllgatherPutsUnevenPartsInRankOrder) {
  TypeParam().run([](Member& member) {
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

inline bool broadcast_conforms(Member& member, std::size_t size, int root,
                               bool in_place) {
  const Bytes expected = bytes_of(root, size, 3);
  Bytes input = member.rank == root ? expected : Bytes();
  Bytes output(size, std::byte{0x5a});
  if (in_place && member.rank == root) output = expected;
  const absl::Status status =
      member.plane.broadcast(in_place ? output.data() : input.data(),
                             output.data(), size, root, member.next());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(output == expected) << "broadcast of " << size << " bytes from "
                                  << root << " to rank " << member.rank;
  return status.ok() && output == expected;
}

TYPED_TEST_P(PlaneConformance, BroadcastReachesEveryRankFromEveryRoot) {
  TypeParam().run([](Member& member) {
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

TYPED_TEST_P(PlaneConformance, BarrierLetsNobodyGoBeforeAllHaveCome) {
  // By number of ranks: a fleet's runs do not share.
  std::array<std::atomic<int>, 65> came = {};
  TypeParam().run([&](Member& member) {
    std::atomic<int>& count = came[static_cast<std::size_t>(member.ranks)];
    for (int round = 1; round <= 20; ++round) {
      ++count;
      ASSERT_TRUE(member.plane.barrier(member.next()).ok());
      ASSERT_GE(count.load(), round * member.ranks_here);
    }
  });
}

TYPED_TEST_P(PlaneConformance, CallsOfAllKindsFollowEachOtherAtAnyPace) {
  TypeParam().run([](Member& member) {
    std::mt19937 plan(17);  // Equal on all ranks;
    std::mt19937 pace(static_cast<unsigned>(member.rank));  // not equal.
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
      switch (plan() % 5) {
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

TYPED_TEST_P(PlaneConformance, RefusesWhatHasNoMeaningAndGoesOn) {
  TypeParam().run([](Member& member) {
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
    EXPECT_TRUE(plane.barrier(member.next()).ok());
  });
}

TYPED_TEST_P(PlaneConformance, AFailingWatchEndsTheCallOfAllWhoWait) {
  TypeParam().run([](Member& member) {
    ASSERT_TRUE(member.plane.barrier(member.next()).ok());
    if (member.rank == 0) return;  // Will never come.
    FailingWatch watch(100 * member.rank);
    Tensors tensors(DType::kF32, {3000});
    const std::vector<Bytes> before = tensors.inputs;
    const Call call = {member.next().tag, watch};
    const absl::Status status = member.plane.allreduce(
        tensors.pieces(false), {.dtype = DType::kF32}, call);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(status.message(), "rank 7 was killed by signal 9");
    EXPECT_EQ(tensors.inputs, before);
    EXPECT_EQ(member.plane.barrier(member.next()), status);
  });
}

REGISTER_TYPED_TEST_SUITE_P(PlaneConformance, AllreduceEqualsTheReference,
                            FloatsAreBitEqualOnAllRanksAndInAllRuns,
                            AllgatherPutsUnevenPartsInRankOrder,
                            BroadcastReachesEveryRankFromEveryRoot,
                            BarrierLetsNobodyGoBeforeAllHaveCome,
                            CallsOfAllKindsFollowEachOtherAtAnyPace,
                            RefusesWhatHasNoMeaningAndGoesOn,
                            AFailingWatchEndsTheCallOfAllWhoWait);

}  // namespace hvd::collective
