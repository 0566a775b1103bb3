// SPDX-License-Identifier: Apache-2.0
// Runs a function as every rank of a job, each rank on its own thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "test/support/rank_thread.h"

namespace hvd {

struct WorldOptions {
  int size = 2;
  int ranks_per_node = 0;  // 0: one node.
  Config config = {};
};

using RankBody = std::function<void(Runtime&, transport::LoopbackWorld&)>;

// Starts `options.size` runtimes in one process, runs `body` on each and stops
// them. A body that checks the result of stop() calls it itself.
inline void run_world(const WorldOptions& options, const RankBody& body) {
  transport::LoopbackWorld world(options.size,
                                 {.ranks_per_node = options.ranks_per_node});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.size; ++rank) {
    threads.emplace_back([&, rank] {
      name_thread_of_rank(rank);
      auto runtime = Runtime::start(options.config, world.communicator(rank));
      ASSERT_EQ(runtime.status(), absl::OkStatus());
      body(**runtime, world);
      (*runtime)->stop().IgnoreError();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hvd
