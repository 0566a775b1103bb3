// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/objects.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/runtime/global.h"
#include "test/runtime/world.h"

namespace hvd::replica {
namespace {

using transport::LoopbackWorld;

TEST(Objects, TravelFromOneRankToAll) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime current(job);
    const std::string mine(static_cast<std::size_t>(rank()) * 1000, 'x');
    EXPECT_EQ(broadcast_object(mine, 2), std::string(2000, 'x'));
    EXPECT_EQ(broadcast_object(mine, 0), "");
    const std::string binary("a\0b", 3);
    EXPECT_EQ(broadcast_object(rank() == 1 ? binary : "", 1), binary);
  });
}

TEST(Objects, AreGatheredInTheOrderOfRanks) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const std::string mine(static_cast<std::size_t>(job.topology().rank()),
                           static_cast<char>('a' + job.topology().rank()));
    EXPECT_EQ(allgather_object(mine, {.runtime = &job}),
              (std::vector<std::string>{"", "b", "cc"}));
  });
}

TEST(Objects, OfAProcessSetStayThere) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const auto set = job.add_process_set_async({0, 2}).wait();
    ASSERT_EQ(set.status(), absl::OkStatus());
    const std::string mine = std::to_string(job.topology().rank());
    const ObjectOptions options = {.process_set = *set, .runtime = &job};
    if (job.topology().rank() == 1) {
      EXPECT_THROW(allgather_object(mine, options), Error);
    } else {
      EXPECT_EQ(allgather_object(mine, options),
                (std::vector<std::string>{"0", "2"}));
      EXPECT_EQ(broadcast_object(mine, 2, options), "2");
    }
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  });
}

}  // namespace
}  // namespace hvd::replica
