// SPDX-License-Identifier: Apache-2.0
// planes_benchmark: the time of collectives between the ranks of a node, by the
// shm plane alone, by a whole call of the runtime, and by MPI.
//
//   mpirun -np 2 planes_benchmark [--only PATTERN] [--rounds N] [--steps BYTES...]
//
//   foreign, arena        the plane, on any memory, and in the arenas
//   from arena, to arena  the same between the two
//   call, in arena        the runtime, by name if it has one; new results
//   MPI                   on the memory of "foreign"
//
// Ways take turns; each value of --steps is a way. Calls of up to 4 KiB are
// made in a row and share the time. Before a larger call every rank writes its
// input and meets the others. The time of a call is that of the slowest rank.
// The output has the median of the rounds and, for busy machines, the minimum
// with its ratio to MPI's.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/transport/loading/mpi_module.h"
#include "horovodpp/transport/node/segment.h"
#include "test/benchmark/guarded_main.h"
#include "test/benchmark/planes/ways.h"
#include "test/benchmark/quartiles.h"

namespace hvd::benchmark {
namespace {

using collective::ShmCrossovers;
using collective::ShmPlane;

struct Options {
  std::string only = {};
  int rounds = 15;
  std::vector<std::size_t> steps = {};
  std::size_t small_bytes = 0;
  collective::ShmOptions plane = {};
};

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kInARow = 4 * kKiB;

class Bench {
 public:
  Bench(WaysOfPlanes& ways, const Options& options, MPI_Comm comm)
      : ways_(ways), options_(options), only_(options.only), comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
  }

  void run() {
    row("barrier", 0, [&] { return ways_.barriers(); });
    for (const std::size_t bytes :
         {std::size_t{4}, std::size_t{1} * kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB,
          256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB}) {
      const Places places(bytes, bytes);
      row("allreduce", bytes, [&] { return ways_.allreduces(places, bytes); });
      row("broadcast", bytes, [&] { return ways_.broadcasts(places, bytes); });
    }
    const auto parts = static_cast<std::size_t>(ranks_);
    for (const std::size_t bytes :
         {std::size_t{64}, 4 * kKiB, 16 * kKiB, 64 * kKiB, 256 * kKiB, kMiB,
          16 * kMiB, 64 * kMiB}) {
      const Places places(bytes, bytes * parts);
      row("allgather", bytes, [&] { return ways_.allgathers(places, bytes); });
      if (bytes % (sizeof(float) * parts) != 0) continue;
      const std::size_t each = bytes / parts;
      row("alltoall", bytes, [&] { return ways_.alltoalls(places, each); });
      row("reducescatter", bytes,
          [&] { return ways_.reducescatters(places, each); });
    }
  }

 private:
  // Microseconds of a call on this rank.
  double measure(const Way& way, std::size_t bytes) {
    const int calls = bytes <= kInARow ? 500 : bytes <= kMiB ? 10 : 1;
    double us = 0;
    if (bytes <= kInARow) {
      throw_if_error(way.call());
      us = time([&] {
        for (int i = 0; i < calls; ++i) throw_if_error(way.call());
      });
      return us / calls;
    }
    for (int i = 0; i < calls; ++i) {
      auto* const input = reinterpret_cast<float*>(way.input);
      std::fill_n(input, bytes / sizeof(float), 1.0f);
      MPI_Barrier(comm_);
      us += time([&] { throw_if_error(way.call()); });
    }
    return us / calls;
  }

  template <typename Work>
  static double time(Work work) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double, std::micro>(Clock::now() - start)
        .count();
  }

  template <typename MakeWays>
  void row(const std::string& what, std::size_t bytes, MakeWays make_ways) {
    const std::string name = absl::StrCat(what, " ", bytes);
    if (!std::regex_search(name, only_)) return;
    const Ways ways = make_ways();
    std::vector<std::vector<double>> times(ways.size());
    for (int round = -2; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const std::size_t way =
            (i + static_cast<std::size_t>(round + 2)) % ways.size();
        const double us = measure(ways[way], bytes);
        if (round >= 0) times[way].push_back(us);
      }
    }
    for (auto& of_way : times) {
      MPI_Allreduce(MPI_IN_PLACE, of_way.data(), options_.rounds, MPI_DOUBLE,
                    MPI_MAX, comm_);
    }
    if (rank_ == 0) tell(name, ways, times);
  }

  static void tell(const std::string& name, const Ways& ways,
                   const std::vector<std::vector<double>>& times) {
    const auto least = [&](std::size_t way) {
      return *std::min_element(times[way].begin(), times[way].end());
    };
    std::printf("%s\n", name.c_str());
    for (std::size_t way = 0; way < ways.size(); ++way) {
      std::printf("  %-18s %10.2f us, least %10.2f (%.2f)\n",
                  ways[way].name.c_str(), quartiles(times[way]).median,
                  least(way), least(way) / least(ways.size() - 1));
    }
    std::fflush(stdout);
  }

  WaysOfPlanes& ways_;
  const Options options_;
  const std::regex only_;
  const MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
};

std::vector<ShmCrossovers> chosen(const Options& options,
                                  ShmCrossovers crossovers) {
  if (options.small_bytes > 0) crossovers.small_bytes = options.small_bytes;
  std::vector<ShmCrossovers> all;
  for (const std::size_t step : options.steps) {
    all.push_back({crossovers.small_bytes, step});
  }
  return all.empty() ? std::vector{crossovers} : all;
}

absl::Status run(const Options& options) {
  HVD_ASSIGN_OR_RETURN(auto communicator, transport::make_mpi_communicator({}));
  HVD_ASSIGN_OR_RETURN(
      const Topology topology,
      Topology::from_peers(communicator->rank(), communicator->peers()));
  const int ranks = topology.local_size();
  const std::size_t lists = collective::ArenaMap::bytes_needed(ranks);
  HVD_ASSIGN_OR_RETURN(
      const auto segment,
      transport::NodeSegment::open(
          *communicator, topology,
          lists + collective::ShmBoard::bytes_needed(ranks),
          std::chrono::steady_clock::now() + std::chrono::seconds(30)));
  collective::ShmBoard board(*segment, segment->payload().subspan(lists),
                             transport::WaitPolicy::for_node(ranks),
                             options.plane);
  communicator.reset();  // The runtime creates its own.
  HVD_RETURN_IF_ERROR(init());
  collective::ArenaMap map(current_runtime().arena(),
                           {.rank = topology.local_rank(), .ranks = ranks},
                           segment->payload().first(lists));
  ShmPlane plane(board, &map);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  WaysOfPlanes ways(board, plane, chosen(options, board.crossovers()), comm);
  Bench(ways, options, comm).run();
  MPI_Comm_free(&comm);
  return shutdown();
}

int main(int argc, char** argv) {
  CLI::App app("Collectives between the ranks of a node, and MPI's.");
  Options options;
  app.add_option("--only", options.only, "rows whose name matches");
  app.add_option("--rounds", options.rounds, "of which the median is told");
  app.add_option("--steps", options.steps, "of how many bytes, to compare");
  app.add_option("--small-bytes", options.small_bytes,
                 "up to which everyone reduces everything");
  app.add_option("--copied-bytes", options.plane.copied_bytes,
                 "up to which what is not reduced goes through the slots");
  app.add_option("--cached-bytes", options.plane.cached_bytes,
                 "up to which results are written through the caches");
  CLI11_PARSE(app, argc, argv);
  throw_if_error(run(options));
  return 0;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  return hvd::benchmark::guarded_main(hvd::benchmark::main, argc, argv);
}
