// SPDX-License-Identifier: Apache-2.0
// Shared by the cases of the runtime suite: Case, tensors of known values, and
// process sets for any job size.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/runtime/runtime.h"
#include "test/collective/reference.h"

namespace hvd::suite {

using collective::Reduction;

// Every rank of a running job runs this.
struct Case {
  const char* name;
  void (*run)(Runtime& job);

  friend void PrintTo(const Case& what, std::ostream* out) {
    *out << what.name;
  }
};

inline std::string text_of(const absl::Status& status) {
  return std::string(status.message());
}

inline bool is_refused(const absl::Status& status) {
  return absl::IsInvalidArgument(status) && !status.message().empty();
}

// The rank that has sent; -1: the receive has failed.
inline int source_of(const StatusOr<int>& received) {
  EXPECT_EQ(received.status(), absl::OkStatus());
  return received.value_or(-1);
}

inline int rank_of(const Runtime& job) { return job.topology().rank(); }
inline int size_of(const Runtime& job) { return job.topology().size(); }

inline std::vector<int> first_ranks(int count) {
  std::vector<int> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(rank);
  return ranks;
}

// Different sets of ranks, some overlapping, none the whole job.
inline std::vector<std::vector<int>> some_sets(int size) {
  std::vector<std::vector<int>> sets;
  const auto add = [&](std::vector<int> ranks) {
    if (static_cast<int>(ranks.size()) == size || ranks.empty()) return;
    if (std::find(sets.begin(), sets.end(), ranks) == sets.end()) {
      sets.push_back(std::move(ranks));
    }
  };
  add(first_ranks(size - 1));
  if (size > 1) add({size - 1});
  if (size > 2) add({0, size - 1});
  std::vector<int> odd;
  for (int rank = 1; rank < size; rank += 2) odd.push_back(rank);
  add(odd);
  return sets;
}

inline ProcessSet add_set(Runtime& job, std::vector<int> ranks) {
  const auto set = job.add_process_set_async(std::move(ranks)).wait();
  EXPECT_EQ(set.status(), absl::OkStatus());
  return set.value_or(ProcessSet());
}

// The global set and some_sets(); adds the sets that are missing.
inline std::vector<ProcessSet> every_set(Runtime& job) {
  if (job.process_sets().size() > 1) return job.process_sets();
  std::vector<ProcessSet> sets = {ProcessSet::global()};
  for (const auto& ranks : some_sets(size_of(job))) {
    sets.push_back(add_set(job, ranks));
  }
  return sets;
}

inline std::vector<int> members_of(const Runtime& job, const ProcessSet& set) {
  return *job.ranks_of(set);
}
inline bool is_in(const Runtime& job, const ProcessSet& set) {
  return job.rank_in(set).ok();
}

// Whether the reduction is valid.
inline bool makes_sense(const Reduction& reduction) {
  return collective::check(reduction).ok();
}

// The contribution of `rank` to a reduction or to another collective.
inline Buffer contribution(const Reduction& reduction, int rank, Shape shape) {
  Buffer buffer = *Buffer::allocate(reduction.dtype, std::move(shape));
  const std::int64_t count = buffer.num_elements();
  const std::int64_t period = std::min(count, collective::kSmallPeriod);
  for (std::int64_t i = 0; i < period; ++i) {
    collective::put(
        reduction.dtype, buffer.view().data(), i,
        collective::small_value(reduction.dtype, reduction.op, rank, i));
  }
  auto* bytes = static_cast<std::byte*>(buffer.view().data());
  const auto size = static_cast<std::size_t>(size_of(reduction.dtype));
  for (std::int64_t i = period; i < count; i += period) {
    std::memcpy(bytes + static_cast<std::size_t>(i) * size, bytes,
                static_cast<std::size_t>(std::min(period, count - i)) * size);
  }
  return buffer;
}

// Expects `actual` to be the reduction of the contributions of `ranks`, from
// element `first`.
inline void expect_reduced(const Reduction& reduction,
                           const std::vector<int>& ranks, const Buffer& actual,
                           std::int64_t first = 0) {
  const std::vector<double> period =
      collective::small_reference(reduction, ranks);
  for (std::int64_t i = 0; i < actual.num_elements(); ++i) {
    const double expected = period[static_cast<std::size_t>(
        (first + i) % collective::kSmallPeriod)];
    const double got =
        collective::get(reduction.dtype, actual.view().data(), i);
    const double slack = 2 * collective::epsilon(reduction.dtype) *
                         std::max(1.0, std::abs(expected));
    ASSERT_NEAR(got, expected, slack)
        << collective::describe(reduction) << " at element " << first + i;
  }
}

// The elements as doubles.
inline std::vector<double> numbers_in(const Buffer& buffer) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < buffer.num_elements(); ++i) {
    numbers.push_back(collective::get(buffer.dtype(), buffer.view().data(), i));
  }
  return numbers;
}

}  // namespace hvd::suite
