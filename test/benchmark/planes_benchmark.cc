// SPDX-License-Identifier: Apache-2.0
// planes_benchmark: what collectives between the ranks of one node take: by the shm
// plane alone, by a whole call of the runtime, and by MPI's own.
//
//   mpirun -np 2 planes_benchmark [--only PATTERN] [--rounds N] [--step-bytes N]
//
//   foreign, arena   the plane, on memory of any kind, and in the arenas
//   to foreign       the same from the arenas into other memory
//   call, in arena   the runtime, by name where there is one; results in new memory
//   MPI              on the memory of "foreign"
//
// Ways take turns. Calls of up to 4 KiB are made in a row, and the time is one call's
// share; before larger ones every rank writes its input and meets the others. The time
// of a call is that of the slowest rank. Told are the median of the rounds and, for
// machines that do other work, the least of them, which comes with the ratio to MPI's.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/collective/shm/arena.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/board.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/transport/mpi_module.h"
#include "horovodpp/transport/node_segment.h"
#include "test/benchmark/quartiles.h"

namespace hvd::benchmark {
namespace {

using collective::ShmPlane;

struct Options {
  std::string only = {};
  int rounds = 15;
  std::size_t step_bytes = 0;
  std::size_t small_bytes = 0;
};

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kInARow = 4 * kKiB;

class Never : public transport::Interrupt {
 public:
  absl::Status check() override { return absl::OkStatus(); }
};

// One way to make a collective of some bytes.
struct Way {
  std::string name;
  std::byte* input;
  std::function<absl::Status()> call;
};

TensorView floats(std::byte* data, std::size_t bytes) {
  return {data, DType::kF32,
          Shape({static_cast<std::int64_t>(bytes / sizeof(float))})};
}

absl::Status of_mpi(int code) {
  return code == MPI_SUCCESS ? absl::OkStatus()
                             : absl::InternalError("a call of MPI failed");
}

// What the ways of this rank work on and with.
class Bench {
 public:
  Bench(ShmPlane& plane, Arena& arena, const Options& options)
      : plane_(plane), arena_(arena), options_(options) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
  }
  ~Bench() { MPI_Comm_free(&comm_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run() {
    row("barrier", 0, barriers());
    for (const std::size_t bytes :
         {std::size_t{4}, std::size_t{1} * kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB,
          256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB}) {
      const Memory memory(*this, bytes, bytes);
      row("allreduce", bytes, allreduces(memory, bytes));
      row("broadcast", bytes, broadcasts(memory, bytes));
    }
    for (const std::size_t bytes :
         {std::size_t{64}, 4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, 64 * kMiB}) {
      const auto parts = static_cast<std::size_t>(ranks_);
      const Memory memory(*this, bytes, bytes * parts);
      row("allgather", bytes, allgathers(memory, bytes));
      row("alltoall", bytes, alltoalls(memory, bytes / parts));
      row("reducescatter", bytes, reducescatters(memory, bytes / parts));
    }
  }

 private:
  using Ways = std::vector<Way>;

  // Inputs and outputs of any memory, and in the arena.
  struct Memory {
    Memory(Bench& bench, std::size_t input, std::size_t output)
        : arena(bench.arena_), here(input), there(output) {
      in_arena = value_or_throw(arena.allocate(input));
      out_arena = value_or_throw(arena.allocate(output));
      std::memset(in_arena, 1, input);
      std::memset(out_arena, 1, output);
    }
    ~Memory() {
      arena.deallocate(in_arena).IgnoreError();
      arena.deallocate(out_arena).IgnoreError();
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    static std::byte* value_or_throw(const StatusOr<void*>& memory) {
      throw_if_error(memory.status());
      return static_cast<std::byte*>(*memory);
    }
    std::byte* in() const { return const_cast<std::byte*>(here.data()); }
    std::byte* out() const { return const_cast<std::byte*>(there.data()); }

    Arena& arena;
    std::vector<std::byte> here;
    std::vector<std::byte> there;
    std::byte* in_arena;
    std::byte* out_arena;
  };

  collective::Call next() {
    return {{.epoch = 1, .sequence = sequence_++}, never_, true};
  }

  Ways barriers() {
    return {{"plane", nullptr, [this] { return plane_.barrier(next()); }},
            {"call", nullptr, [] { return barrier(); }},
            {"MPI", nullptr, [this] { return of_mpi(MPI_Barrier(comm_)); }}};
  }

  Ways allreduces(const Memory& memory, std::size_t bytes) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    const auto ours = [this, count](std::byte* data) {
      return [=, this] {
        const collective::Piece piece = {data, data, count};
        return plane_.allreduce({&piece, 1}, {.op = ReduceOp::kMax}, next());
      };
    };
    const auto whole = [bytes, count](std::byte* data, const char* where) {
      const TensorView view(data, DType::kF32, Shape({count}));
      const std::string name = absl::StrCat("allreduce.", where, bytes);
      return [=] { return allreduce_(view, {.name = name}); };
    };
    std::byte* const in = memory.in();
    return {{"foreign", in, ours(in)},
            {"arena", memory.in_arena, ours(memory.in_arena)},
            {"call", in, whole(in, "foreign")},
            {"in arena", memory.in_arena, whole(memory.in_arena, "arena")},
            {"MPI", in, [=, this] {
               return of_mpi(MPI_Allreduce(MPI_IN_PLACE, in,
                                           static_cast<int>(count), MPI_FLOAT,
                                           MPI_SUM, comm_));
             }}};
  }

  Ways broadcasts(const Memory& memory, std::size_t bytes) {
    const auto ours = [this, bytes](std::byte* data) {
      return
          [=, this] { return plane_.broadcast(data, data, bytes, 0, next()); };
    };
    const auto whole = [bytes](std::byte* data, const char* where) {
      const TensorView view = floats(data, bytes);
      const std::string name = absl::StrCat("broadcast.", where, bytes);
      return [=] { return broadcast_(view, 0, {.name = name}); };
    };
    std::byte* const in = memory.in();
    return {{"foreign", in, ours(in)},
            {"arena", memory.in_arena, ours(memory.in_arena)},
            {"call", in, whole(in, "foreign")},
            {"in arena", memory.in_arena, whole(memory.in_arena, "arena")},
            {"MPI", in, [=, this] {
               return of_mpi(
                   MPI_Bcast(in, static_cast<int>(bytes), MPI_BYTE, 0, comm_));
             }}};
  }

  // Of what moves `bytes` between any two ranks: `ours` is the plane's part from one
  // memory to another, `whole` the call on one. MPI_Allgather or MPI_Alltoall.
  template <typename Ours, typename Whole>
  Ways moves(const Memory& memory, std::size_t bytes, const Ours& ours,
             const Whole& whole, decltype(&MPI_Allgather) mpi) {
    std::byte* const in = memory.in();
    std::byte* const out = memory.out();
    const int count = static_cast<int>(bytes);
    return {
        {"foreign", in, ours(in, out)},
        {"arena", memory.in_arena, ours(memory.in_arena, memory.out_arena)},
        {"to foreign", memory.in_arena, ours(memory.in_arena, out)},
        {"call", in, whole(in, "foreign")},
        {"in arena", memory.in_arena, whole(memory.in_arena, "arena")},
        {"MPI", in, [=, this] {
           return of_mpi(mpi(in, count, MPI_BYTE, out, count, MPI_BYTE, comm_));
         }}};
  }

  Ways allgathers(const Memory& memory, std::size_t bytes) {
    const auto ours = [this, bytes](std::byte* in, std::byte* out) {
      const std::vector<std::size_t> each(static_cast<std::size_t>(ranks_),
                                          bytes);
      return [=, this] {
        return plane_.allgather({in, bytes}, each, out, next());
      };
    };
    const auto whole = [bytes](std::byte* data, const char* where) {
      const TensorView view = floats(data, bytes);
      const std::string name = absl::StrCat("allgather.", where, bytes);
      return [=] { return allgather(view, {.name = name}).status(); };
    };
    return moves(memory, bytes, ours, whole, &MPI_Allgather);
  }

  Ways alltoalls(const Memory& memory, std::size_t bytes) {
    const auto ours = [this, bytes](std::byte* in, std::byte* out) {
      const std::vector<std::size_t> each(static_cast<std::size_t>(ranks_),
                                          bytes);
      return [=, this] {
        return plane_.alltoall({in, bytes * each.size()}, each, out, each,
                               next());
      };
    };
    const auto whole = [this, bytes](std::byte* data, const char* where) {
      const TensorView view =
          floats(data, bytes * static_cast<std::size_t>(ranks_));
      const std::string name = absl::StrCat("alltoall.", where, bytes);
      return [=] { return alltoall(view, {.name = name}).status(); };
    };
    return moves(memory, bytes, ours, whole, &MPI_Alltoall);
  }

  Ways reducescatters(const Memory& memory, std::size_t bytes) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    const auto ours = [this, count](std::byte* in, std::byte* out) {
      const std::vector<std::int64_t> each(static_cast<std::size_t>(ranks_),
                                           count);
      return [=, this] {
        const collective::Piece piece = {in, out, count * ranks_};
        return plane_.reducescatter({&piece, 1}, each, {.op = ReduceOp::kMax},
                                    next());
      };
    };
    std::byte* const in = memory.in();
    std::byte* const out = memory.out();
    return {
        {"foreign", in, ours(in, out)},
        {"arena", memory.in_arena, ours(memory.in_arena, memory.out_arena)},
        {"MPI", in, [=, this] {
           return of_mpi(MPI_Reduce_scatter_block(
               in, out, static_cast<int>(count), MPI_FLOAT, MPI_SUM, comm_));
         }}};
  }

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

  void row(const std::string& what, std::size_t bytes, const Ways& ways) {
    if (bytes % (sizeof(float) * static_cast<std::size_t>(ranks_)) != 0 &&
        (what == "alltoall" || what == "reducescatter")) {
      return;
    }
    const std::string name = absl::StrCat(what, " ", bytes);
    if (!std::regex_search(name, std::regex(options_.only))) return;
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
    if (rank_ != 0) return;
    const auto least = [&](std::size_t way) {
      return *std::min_element(times[way].begin(), times[way].end());
    };
    std::printf("%-20s", name.c_str());
    for (std::size_t way = 0; way < ways.size(); ++way) {
      std::printf("  %s %.2f us, least %.2f (%.2f);", ways[way].name.c_str(),
                  quartiles(times[way]).median, least(way),
                  least(way) / least(ways.size() - 1));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  ShmPlane& plane_;
  Arena& arena_;
  const Options options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
  std::uint32_t sequence_ = 1;
  Never never_;
};

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
                             transport::WaitPolicy::for_node(ranks));
  collective::ShmCrossovers crossovers = board.crossovers();
  if (options.step_bytes > 0) crossovers.step_bytes = options.step_bytes;
  if (options.small_bytes > 0) crossovers.small_bytes = options.small_bytes;
  board.set_crossovers(crossovers);
  communicator.reset();  // The runtime has one of its own.
  HVD_RETURN_IF_ERROR(init());
  const std::shared_ptr<Arena> arena = current_runtime().arena();
  collective::ArenaMap map(arena,
                           {.rank = topology.local_rank(), .ranks = ranks},
                           segment->payload().first(lists));
  ShmPlane plane(board, &map);
  Bench(plane, *arena, options).run();
  return shutdown();
}

int main(int argc, char** argv) {
  CLI::App app("Collectives between the ranks of a node, and MPI's.");
  Options options;
  app.add_option("--only", options.only, "rows whose name matches");
  app.add_option("--rounds", options.rounds, "of which the median is told");
  app.add_option("--step-bytes", options.step_bytes, "of a chunk");
  app.add_option("--small-bytes", options.small_bytes,
                 "up to which everyone reduces everything");
  CLI11_PARSE(app, argc, argv);
  throw_if_error(run(options));
  return 0;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) try {
  return hvd::benchmark::main(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "planes_benchmark: %s\n", error.what());
  return 1;
}
