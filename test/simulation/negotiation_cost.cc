// SPDX-License-Identifier: Apache-2.0
// negotiation_cost: the cost of a steady step of 2 to 131,072 ranks until every
// rank knows the batch to execute, under a LogGP model.
//
//   negotiation_cost --latency-us 1.3 --overhead-us 0.4 --gap-us 0.3
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "CLI/CLI.hpp"
#include "test/simulation/cost_model.h"

namespace {
std::size_t live = 0;
}

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  live += malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  live -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace hvd::simulation {

std::size_t live_bytes() { return live; }

namespace {

double peak_gigabytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

bool print_one(const CostOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto cost = measure_step(options);
  if (!cost) return false;
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  std::printf("%7d %7d  %d  %10llu %12llu %13llu %9.2f %9.0f %9.0f %7.2f\n",
              options.ranks, options.tensors, cost->in_cycle ? 0 : 1,
              static_cast<unsigned long long>(cost->messages),
              static_cast<unsigned long long>(cost->bytes),
              static_cast<unsigned long long>(cost->node_messages),
              cost->us_after_last_arrival, cost->state_bytes_per_rank,
              cost->board_bytes_per_rank, took.count());
  std::fflush(stdout);
  return true;
}

int main(int argc, char** argv) {
  CLI::App app("Negotiation of simulated jobs under a LogGP model.");
  CostOptions options;
  std::vector<int> ranks = {2, 8, 64, 512, 4096, 32768, 131072};
  std::vector<int> tensors = {1, 161, 1000};
  long long most = 2'500'000;
  LogGP& network = options.network;
  app.add_option("--ranks", ranks);
  app.add_option("--tensors", tensors);
  app.add_option("--ranks-per-node", options.ranks_per_node);
  app.add_option("--latency-us", network.latency_us, "L");
  app.add_option("--overhead-us", network.overhead_us, "o");
  app.add_option("--gap-us", network.gap_us, "g");
  app.add_option("--gigabytes-per-s", network.gigabytes_per_s, "1 / G");
  app.add_option("--node-us", network.node_us, "from rank to rank of a node");
  app.add_flag("--own-requests", options.own_requests,
               "every rank keeps a copy of what was agreed on");
  app.add_option("--most", most, "ranks x tensors, limited by memory");
  CLI11_PARSE(app, argc, argv);
  std::printf(
      "  ranks tensors mode  messages        bytes  node messages  us after "
      "  state B   board B seconds\n");
  for (const int count : tensors) {
    for (const int size : ranks) {
      options.tensors = count;
      options.ranks = size;
      if (static_cast<long long>(size) * count > most) {
        std::printf("%7d %7d  not run: more than --most\n", size, count);
        continue;
      }
      for (const int steps : {0, 2}) {
        options.steps_before_schedule = steps;
        if (!print_one(options)) return 1;
      }
    }
  }
  std::printf("peak memory %.2f GB\n", peak_gigabytes());
  return 0;
}

}  // namespace
}  // namespace hvd::simulation

int main(int argc, char** argv) { return hvd::simulation::main(argc, argv); }
