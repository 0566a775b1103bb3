// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/inspection/memory_of_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"

namespace hvd::optim {
namespace {

using ::testing::HasSubstr;

TEST(MemoryOfRanks, HasALineForEachRank) {
  run_ranks(3, [] {
    const MemoryReport report{
        .peak_bytes = 2'000'000 + rank() * 1'000'000,
        .categories = {{"parameters", 1'000'000},
                       {"gradients", 500'000 + rank() * 10'000}}};
    const std::string table = memory_of_ranks(report);
    EXPECT_THAT(table, HasSubstr("rank  peak  parameters  gradients  arena"));
    EXPECT_THAT(table, HasSubstr("\n   0  2.00        1.00       0.50"));
    EXPECT_THAT(table, HasSubstr("\n   2  4.00        1.00       0.52"));
  });
}

TEST(MemoryOfRanks, NeedsAJob) { EXPECT_THROW(memory_of_ranks({}), Error); }

}  // namespace
}  // namespace hvd::optim
