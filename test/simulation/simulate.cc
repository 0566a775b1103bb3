// SPDX-License-Identifier: Apache-2.0
// simulate: random programs on simulated jobs, any number of them.
//
//   simulate --count 1000000 --first 1        on all cores; lists failing seeds
//   simulate --first 4711 --count 1 --trace   one program, event by event
#include <cstdint>
#include <cstdio>
#include <thread>

#include "CLI/CLI.hpp"
#include "test/simulation/sweep.h"

namespace hvd::simulation {
namespace {

int follow(std::uint64_t seed, const Limits& limits) {
  const Program program = generate(seed, limits);
  std::fprintf(stderr, "%s", program.describe().c_str());
  const Report report = run(program, true);
  for (const std::string& fault : report.faults) {
    std::printf("%s\n", fault.c_str());
  }
  return report.faults.empty() ? 0 : 1;
}

int sweep_all(const SweepOptions& options) {
  const SweepResult result = sweep(options);
  std::printf("%s\n", result.statistics.describe().c_str());
  for (const Failed& failed : result.failures) {
    std::printf("FAILED seed %llu (%llu actions): %s\n",
                static_cast<unsigned long long>(failed.seed),
                static_cast<unsigned long long>(failed.actions),
                failed.fault.c_str());
  }
  if (!result.failures.empty()) {
    std::printf(
        "%s\n",
        replay_command(result.failures.front().seed, options.limits).c_str());
  }
  return result.failures.empty() ? 0 : 1;
}

int main(int argc, char** argv) {
  CLI::App app("Runs random programs on simulated jobs.");
  SweepOptions options;
  options.count = 1000;
  options.threads = static_cast<int>(std::thread::hardware_concurrency());
  bool trace = false;
  Limits& limits = options.limits;
  app.add_option("--first", options.first_seed, "the first seed");
  app.add_option("--count", options.count, "how many");
  app.add_option("--threads", options.threads, "how many at a time");
  app.add_option("--failures", options.most_failures, "ends with so many");
  app.add_option("--min-ranks", limits.min_ranks);
  app.add_option("--max-ranks", limits.max_ranks);
  app.add_option("--max-phases", limits.max_phases);
  app.add_option("--max-names", limits.max_names);
  app.add_option("--early-leaves", limits.early_leaves, "% of programs");
  app.add_option("--deaths", limits.deaths, "% of programs");
  app.add_option("--stalls", limits.stalls, "% of programs");
  app.add_flag("--trace", trace, "writes every event of the first to stderr");
  CLI11_PARSE(app, argc, argv);
  return trace ? follow(options.first_seed, limits) : sweep_all(options);
}

}  // namespace
}  // namespace hvd::simulation

int main(int argc, char** argv) { return hvd::simulation::main(argc, argv); }
