// SPDX-License-Identifier: Apache-2.0
// Single plane calls, checked against a reference. The conformance suite and
// other tests of planes use them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "test/collective/fleets.h"
#include "test/collective/reference.h"

namespace hvd::collective {

inline Bytes bytes_of(int rank, std::size_t count, int salt = 0) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(
        i * 31 + i / 256 + static_cast<std::size_t>(rank * 57 + salt));
  }
  return bytes;
}

// The memory of one rank's part in an allreduce: for each piece, a block of
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

// Runs the case and compares every element with the reference. On a mismatch,
// reports one failure and returns false.
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
  std::vector<int> ranks(static_cast<std::size_t>(member.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::vector<double> period = small_reference(reduction, ranks);
  tensors.for_each([&](std::size_t p, std::int64_t i, std::int64_t whole) {
    const double expected =
        period[static_cast<std::size_t>(whole % kSmallPeriod)];
    const auto& results = test.in_place ? tensors.inputs : tensors.outputs;
    const double result = get(dtype, results[p].data(), i);
    const double magnitude = std::max(std::abs(expected), member.rounds_like);
    if (!(std::abs(result - expected) <= tolerance * magnitude) &&
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

// `count` elements as one tensor, or as several with empty tensors between.
inline std::vector<std::int64_t> cut(std::int64_t count, bool fused) {
  if (!fused) return {count};
  const std::int64_t third = count / 3;
  const std::int64_t one = std::min<std::int64_t>(1, count - third);
  return {0, third, 0, 0, one, count - third - one, 0};
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

// Uses allgather_alike(), for planes that have it. `without_output`: a rank, or
// -1.
inline bool allgather_alike_conforms(Member& member,
                                     const std::vector<std::size_t>& sizes,
                                     int without_output = -1) {
  const auto self = static_cast<std::size_t>(member.rank);
  const Bytes mine = bytes_of(member.rank, sizes[self]);
  Bytes expected(mine.size() * sizes.size(), std::byte{0x5a});
  Bytes output = expected;
  const bool is_alike =
      without_output < 0 &&
      std::count(sizes.begin(), sizes.end(), sizes[0]) == member.ranks;
  if (is_alike) {
    expected.clear();
    for (int r = 0; r < member.ranks; ++r) {
      const Bytes part = bytes_of(r, sizes[0]);
      expected.insert(expected.end(), part.begin(), part.end());
    }
  }
  std::byte somewhere{};
  std::byte* const place = output.empty() ? &somewhere : output.data();
  std::vector<std::size_t> told(sizes.size(), 77);
  const auto done = member.plane.allgather_alike(
      mine, told, without_output == member.rank ? nullptr : place,
      member.next());
  EXPECT_TRUE(done.ok()) << done.status();
  if (!done.ok()) return false;
  EXPECT_EQ(*done, is_alike);
  EXPECT_EQ(told, sizes);
  EXPECT_TRUE(output == expected)
      << "allgather on rank " << member.rank << " of " << member.ranks;
  return *done == is_alike && told == sizes && output == expected;
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

// Divides `count` elements among the ranks: evenly, all for the last, or
// increasing counts with none for some ranks.
inline std::vector<std::int64_t> parts_of(std::int64_t count, int ranks,
                                          int way) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(ranks));
  std::int64_t left = count;
  for (int r = 0; r + 1 < ranks && way != 1; ++r) {
    const std::int64_t part =
        way == 0 ? count / ranks : (r % 2 == 0 ? 0 : left / 3);
    parts[static_cast<std::size_t>(r)] = part;
    left -= part;
  }
  parts.back() = left;
  return parts;
}

// Whether two results of one reduction agree: bit by bit, or up to rounding by
// a plane that chooses the order of its additions.
inline bool agree(const Member& member, DType dtype, const Bytes& a,
                  const Bytes& b) {
  if (member.rounds_like == 0 || a.size() != b.size()) return a == b;
  const auto count = static_cast<std::int64_t>(a.size() / size_of(dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const double one = get(dtype, a.data(), i);
    const double magnitude = std::max(std::abs(one), member.rounds_like);
    const double tolerance = member.ranks * epsilon(dtype) * magnitude;
    if (!(std::abs(one - get(dtype, b.data(), i)) <= tolerance)) return false;
  }
  return true;
}

// Reducescatters random floats and expects the result of an allreduce.
// counts[p][r] elements of piece p go to rank r.
inline bool reducescatter_conforms(
    Member& member, const Reduction& reduction,
    const std::vector<std::vector<std::int64_t>>& counts) {
  const DType dtype = reduction.dtype;
  std::vector<std::int64_t> wholes;
  std::vector<std::int64_t> mine;
  std::vector<std::int64_t> flat;
  for (const auto& of_rank : counts) {
    wholes.push_back(
        std::accumulate(of_rank.begin(), of_rank.end(), std::int64_t{0}));
    mine.push_back(of_rank[static_cast<std::size_t>(member.rank)]);
    flat.insert(flat.end(), of_rank.begin(), of_rank.end());
  }
  Tensors whole(dtype, wholes);
  Tensors part(dtype, mine);
  std::mt19937 random(static_cast<unsigned>(member.rank));
  std::uniform_real_distribution<double> number(-4, 4);
  whole.for_each([&](std::size_t p, std::int64_t i, std::int64_t) {
    put(dtype, whole.inputs[p].data(), i,
        dtype == DType::kBool || dtype == DType::kU8 ? std::abs(number(random))
                                                     : number(random));
  });
  const std::vector<Bytes> before = whole.inputs;
  std::vector<Piece> pieces = whole.pieces(false);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    pieces[p].output = part.outputs[p].data();
  }
  const absl::Status scattered =
      member.plane.reducescatter(pieces, flat, reduction, member.next());
  const absl::Status reduced =
      member.plane.allreduce(whole.pieces(false), reduction, member.next());
  EXPECT_TRUE(scattered.ok() && reduced.ok()) << scattered << reduced;
  bool well = scattered.ok() && reduced.ok() && whole.inputs == before;
  for (std::size_t p = 0; p < counts.size() && well; ++p) {
    const auto begin =
        std::accumulate(counts[p].begin(), counts[p].begin() + member.rank,
                        std::int64_t{0}) *
        static_cast<std::int64_t>(size_of(dtype));
    const auto first = whole.outputs[p].begin() + begin;
    const auto bytes = static_cast<std::ptrdiff_t>(part.outputs[p].size());
    well = agree(member, dtype, part.outputs[p], Bytes(first, first + bytes));
  }
  EXPECT_TRUE(well) << "reducescatter, " << describe(reduction) << ", on rank "
                    << member.rank << " of " << member.ranks;
  return well;
}

// Reduces `count` elements for the last rank, in place.
inline bool reduce_to_last_conforms(Member& member, std::int64_t count) {
  const Reduction reduction = {.dtype = DType::kI32};
  Tensors tensors(reduction.dtype, {count});
  tensors.for_each([&](std::size_t p, std::int64_t i, std::int64_t whole) {
    put(reduction.dtype, tensors.inputs[p].data(), i,
        small_value(reduction.dtype, reduction.op, member.rank, whole));
  });
  std::vector<Bytes> expected = tensors.inputs;
  const bool is_last = member.rank == member.ranks - 1;
  const absl::Status reduced =
      member.plane.allreduce(tensors.pieces(false), reduction, member.next());
  if (is_last) expected = tensors.outputs;
  std::vector<Piece> pieces = tensors.pieces(true);
  if (!is_last) pieces[0].output = nullptr;
  const absl::Status status = member.plane.reducescatter(
      pieces, parts_of(count, member.ranks, 1), reduction, member.next());
  EXPECT_TRUE(reduced.ok() && status.ok()) << reduced << status;
  EXPECT_TRUE(tensors.inputs == expected)
      << "in place, on rank " << member.rank << " of " << member.ranks;
  return reduced.ok() && status.ok() && tensors.inputs == expected;
}

// Each rank sends `size(from, to)` bytes to each rank.
template <typename Size>
bool alltoall_conforms(Member& member, Size size) {
  std::vector<std::size_t> sent;
  std::vector<std::size_t> received;
  Bytes input;
  Bytes expected;
  for (int r = 0; r < member.ranks; ++r) {
    sent.push_back(size(member.rank, r));
    received.push_back(size(r, member.rank));
    const Bytes out = bytes_of(member.rank, sent.back(), r);
    const Bytes in = bytes_of(r, received.back(), member.rank);
    input.insert(input.end(), out.begin(), out.end());
    expected.insert(expected.end(), in.begin(), in.end());
  }
  Bytes output(expected.size(), std::byte{0x5a});
  const absl::Status status = member.plane.alltoall(input, sent, output.data(),
                                                    received, member.next());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(output == expected)
      << "alltoall on rank " << member.rank << " of " << member.ranks;
  return status.ok() && output == expected;
}

// By alltoall_alike(), of planes that have it. `without_output`: a rank, or -1.
template <typename Size>
bool alltoall_alike_conforms(Member& member, Size size,
                             int without_output = -1) {
  const auto ranks = static_cast<std::size_t>(member.ranks);
  const auto self = static_cast<std::size_t>(member.rank);
  std::vector<std::size_t> sizes;
  Bytes input;
  Bytes expected;
  bool is_alike = without_output < 0;
  for (int from = 0; from < member.ranks; ++from) {
    for (int to = 0; to < member.ranks; ++to) {
      sizes.push_back(size(from, to));
      is_alike = is_alike && size(from, to) == size(to, from);
    }
    const Bytes out = bytes_of(member.rank, size(member.rank, from), from);
    const Bytes in = bytes_of(from, size(from, member.rank), member.rank);
    input.insert(input.end(), out.begin(), out.end());
    expected.insert(expected.end(), in.begin(), in.end());
  }
  const Bytes untouched(expected.size() + 1, std::byte{0x5a});
  Bytes output = untouched;
  std::vector<std::size_t> told(ranks * ranks, 77);
  std::copy_n(sizes.begin() + static_cast<std::ptrdiff_t>(self * ranks), ranks,
              told.begin() + static_cast<std::ptrdiff_t>(self * ranks));
  const auto done = member.plane.alltoall_alike(
      input, told, without_output == member.rank ? nullptr : output.data(),
      member.next());
  EXPECT_TRUE(done.ok()) << done.status();
  if (!done.ok()) return false;
  expected.push_back(std::byte{0x5a});
  const bool well = *done == is_alike && told == sizes &&
                    output == (is_alike ? expected : untouched);
  EXPECT_TRUE(well) << "alltoall_alike on rank " << member.rank << " of "
                    << member.ranks;
  return well;
}

}  // namespace hvd::collective
