// SPDX-License-Identifier: Apache-2.0
// Runs tasks on the threads of an operation, each with memory of its own.
//
//   run_tasks({.count = heads, .cost = scores}, [&] { return Worker(call); },
//             [](Worker& worker, std::int64_t head) { worker.run(head); });
//
// A library that shares the pool of OpenMP uses one thread within a task, unless
// one worker has all tasks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/core/thread/threads.h"
#include "horovodpp/kernel/parallel.h"

namespace hvd::autograd {

// Calls run(worker, task) for the tasks [0, tasks.count), in any order. Each
// thread has a worker, which make() returned before the first task; there are at
// most `most`. If `run` throws, then so does this, and other tasks may be left
// out.
template <typename Make, typename Run>
void run_tasks(const LoopSize& tasks, std::int64_t most, Make make, Run run) {
  if (tasks.count <= 0) return;
  const std::int64_t count =
      std::min<std::int64_t>({get_num_threads(), tasks.count, most});
  std::vector<decltype(make())> workers;
  for (std::int64_t i = 0; i < count; ++i) workers.push_back(make());
  std::atomic<std::int64_t> next{0};
  const LoopSize loop{.count = count, .cost = tasks.count * tasks.cost / count};
  parallel_for(loop, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t w = begin; w < end; ++w) {
      auto& worker = workers[static_cast<std::size_t>(w)];
      for (std::int64_t i = next++; i < tasks.count; i = next++) run(worker, i);
    }
  });
}

}  // namespace hvd::autograd
