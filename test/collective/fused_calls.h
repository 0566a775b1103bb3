// SPDX-License-Identifier: Apache-2.0
// The bits of results: of one tensor, reduced alone and fused with others, and
// of floats on all ranks. For tests of planes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "test/collective/conforming_calls.h"

namespace hvd::collective {

// The other tensors of a call: the lengths of the tensors before and behind the
// tensor.
struct Company {
  std::vector<std::int64_t> before = {};
  std::vector<std::int64_t> behind = {};

  std::size_t place() const { return before.size(); }
  std::vector<std::int64_t> with(std::int64_t count) const {
    std::vector<std::int64_t> counts = before;
    counts.push_back(count);
    counts.insert(counts.end(), behind.begin(), behind.end());
    return counts;
  }
};

// Total sizes on both sides of every size threshold of a call.
inline std::vector<Company> companies() {
  return {{{}, {3, 300}},
          {{9, 0, 2}, {901}},
          {{40, 301}, {}},
          {std::vector<std::int64_t>(20, 11), {7}}};
}

// This rank's part in such a call. Sums of the values round, and the tensor's
// values depend only on the rank.
inline Tensors in_company(const Member& member, DType dtype, std::int64_t count,
                          const Company& company) {
  Tensors tensors(dtype, company.with(count));
  for (std::size_t p = 0; p < tensors.counts.size(); ++p) {
    const bool is_it = p == company.place();
    std::mt19937 random(
        static_cast<unsigned>(member.rank + (is_it ? 1000 : 2000)));
    for (std::int64_t i = 0; i < tensors.counts[p]; ++i) {
      put(dtype, tensors.inputs[p].data(), i,
          static_cast<double>(random()) / 0x1p31 - 1);
    }
  }
  return tensors;
}

inline Bytes reduced_in(const Company& company, Member& member,
                        const Reduction& reduction, std::int64_t count) {
  Tensors tensors = in_company(member, reduction.dtype, count, company);
  const absl::Status status =
      member.plane.allreduce(tensors.pieces(false), reduction, member.next());
  EXPECT_TRUE(status.ok()) << status;
  return tensors.outputs[company.place()];
}

// This rank's part of a fused reducescatter.
inline Bytes scattered_in(const Company& company, Member& member,
                          const Reduction& reduction, std::int64_t count) {
  Tensors tensors = in_company(member, reduction.dtype, count, company);
  std::vector<std::int64_t> counts;
  for (std::size_t p = 0; p < tensors.counts.size(); ++p) {
    for (const std::int64_t part :
         parts_of(tensors.counts[p], member.ranks, static_cast<int>(p % 3))) {
      counts.push_back(part);
    }
  }
  const absl::Status status = member.plane.reducescatter(
      tensors.pieces(false), counts, reduction, member.next());
  EXPECT_TRUE(status.ok()) << status;
  const auto mine = static_cast<std::size_t>(counts[static_cast<std::size_t>(
      static_cast<int>(company.place()) * member.ranks + member.rank)]);
  Bytes result = tensors.outputs[company.place()];
  result.resize(mine * size_of(reduction.dtype));
  return result;
}

// The part of the whole tensor that scattered_in() gives this rank.
inline Bytes part_of(const Bytes& whole, const Company& company,
                     const Member& member, DType dtype) {
  const auto all = static_cast<std::int64_t>(whole.size() / size_of(dtype));
  const std::vector<std::int64_t> parts =
      parts_of(all, member.ranks, static_cast<int>(company.place() % 3));
  const auto begin = std::accumulate(parts.begin(), parts.begin() + member.rank,
                                     std::int64_t{0});
  const auto bytes = static_cast<std::ptrdiff_t>(size_of(dtype));
  const auto first = whole.begin() + begin * bytes;
  const std::int64_t mine = parts[static_cast<std::size_t>(member.rank)];
  return Bytes(first, first + mine * bytes);
}

// On a mismatch, reports one failure and returns false.
inline bool is_reduced_alike_in_any_company(Member& member,
                                            const Reduction& reduction,
                                            std::int64_t count) {
  const Bytes alone = reduced_in({}, member, reduction, count);
  const auto what = [&](const char* kind) {
    return std::string(kind) + ", " + describe(reduction) + ", of " +
           std::to_string(count) + " on rank " + std::to_string(member.rank) +
           " of " + std::to_string(member.ranks);
  };
  bool well = true;
  for (const Company& company : companies()) {
    const Bytes fused = reduced_in(company, member, reduction, count);
    well = agree(member, reduction.dtype, fused, alone) && well;
  }
  EXPECT_TRUE(well) << what("allreduce");
  if (reduction.op == ReduceOp::kAdasum) return well;
  std::vector<Company> scattered = companies();
  scattered.emplace_back();
  for (const Company& company : scattered) {
    const Bytes mine = scattered_in(company, member, reduction, count);
    const Bytes part = part_of(alone, company, member, reduction.dtype);
    well = agree(member, reduction.dtype, mine, part) && well;
  }
  EXPECT_TRUE(well) << what("allreduce or reducescatter");
  return well;
}

// Whether all ranks have the same bytes. Every rank calls it.
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

// Reduces random numbers in [-1, 1). The result must be close to the sum in
// double, and have the same bits on all ranks and in a second run.
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
                std::max(4, member.ranks) * epsilon(dtype))
        << describe(reduction);
  }
  EXPECT_TRUE(equal_on_all_ranks(member, first)) << describe(reduction);
}

}  // namespace hvd::collective
