// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/sweep.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"

namespace hvd::simulation {
namespace {

std::uint64_t actions_of(const Program& program) {
  std::uint64_t actions = 0;
  for (const auto& threads : program.threads) {
    for (const auto& thread : threads) actions += thread.size();
  }
  return actions;
}

}  // namespace

SweepResult sweep(const SweepOptions& options) {
  SweepResult result;
  std::mutex mutex;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> enough{false};
  const auto work = [&] {
    Statistics statistics;
    while (!enough) {
      const std::uint64_t index = next.fetch_add(1);
      if (index >= options.count) break;
      const Program program =
          generate(options.first_seed + index, options.limits);
      const Report report = run(program);
      statistics += report.statistics;
      if (report.faults.empty()) continue;
      const std::lock_guard lock(mutex);
      result.failures.push_back(
          {program.seed, actions_of(program), report.faults.front()});
      if (result.failures.size() >= options.most_failures) enough = true;
    }
    const std::lock_guard lock(mutex);
    result.statistics += statistics;
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::sort(result.failures.begin(), result.failures.end(),
            [](const Failed& a, const Failed& b) {
              return a.actions != b.actions ? a.actions < b.actions
                                            : a.seed < b.seed;
            });
  return result;
}

std::string replay_command(std::uint64_t seed, const Limits& limits) {
  return absl::StrCat("simulate --first ", seed, " --trace --min-ranks ",
                      limits.min_ranks, " --max-ranks ", limits.max_ranks,
                      " --max-phases ", limits.max_phases, " --max-names ",
                      limits.max_names, " --early-leaves ", limits.early_leaves,
                      " --deaths ", limits.deaths, " --stalls ", limits.stalls);
}

}  // namespace hvd::simulation
