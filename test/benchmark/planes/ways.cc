// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/planes/ways.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/global_collectives.h"

namespace hvd::benchmark {
namespace {

constexpr std::size_t kKiB = 1024;

Memory filled(MemoryKind kind, std::size_t bytes) {
  Memory memory = value_or_throw(allocate(kind, bytes));
  std::memset(memory.get(), 1, bytes);
  return memory;
}

TensorView floats(std::byte* data, std::size_t bytes) {
  return {data, DType::kF32,
          Shape({static_cast<std::int64_t>(bytes / sizeof(float))})};
}

absl::Status of_mpi(int code) {
  return code == MPI_SUCCESS ? absl::OkStatus()
                             : absl::InternalError("a call of MPI failed");
}

}  // namespace

Places::Places(std::size_t input_bytes, std::size_t output_bytes)
    : input(filled(MemoryKind::kForeign, input_bytes)),
      output(filled(MemoryKind::kForeign, output_bytes)),
      arena_input(filled(MemoryKind::kArena, input_bytes)),
      arena_output(filled(MemoryKind::kArena, output_bytes)) {}

WaysOfPlanes::WaysOfPlanes(collective::ShmBoard& board,
                           collective::ShmPlane& plane,
                           std::vector<collective::ShmCrossovers> crossovers,
                           MPI_Comm comm)
    : board_(board),
      plane_(plane),
      crossovers_(std::move(crossovers)),
      comm_(comm) {
  MPI_Comm_size(comm_, &ranks_);
}

void WaysOfPlanes::add(Ways& ways, const std::string& name, std::byte* input,
                       const Call& call) const {
  for (const collective::ShmCrossovers& crossovers : crossovers_) {
    const std::string how =
        crossovers_.size() == 1
            ? name
            : absl::StrCat(name, "/", crossovers.step_bytes / kKiB, "K");
    ways.push_back({how, input, [&board = board_, crossovers, call] {
                      board.set_crossovers(crossovers);
                      return call();
                    }});
  }
}

Ways WaysOfPlanes::in_place(const Places& places, const Between& ours,
                            const Whole& whole,
                            const std::function<int()>& mpi) const {
  std::byte* const here = places.input.get();
  std::byte* const arena = places.arena_input.get();
  Ways ways;
  add(ways, "foreign", here, ours(here, here));
  add(ways, "arena", arena, ours(arena, arena));
  ways.push_back({"call", here, whole(here, "foreign")});
  ways.push_back({"in arena", arena, whole(arena, "arena")});
  ways.push_back({"MPI", here, [mpi] { return of_mpi(mpi()); }});
  return ways;
}

Ways WaysOfPlanes::across(const Places& places, const Between& ours,
                          const Whole& whole,
                          const std::function<int()>& mpi) const {
  std::byte* const here = places.input.get();
  std::byte* const arena = places.arena_input.get();
  Ways ways;
  add(ways, "foreign", here, ours(here, places.output.get()));
  add(ways, "arena", arena, ours(arena, places.arena_output.get()));
  add(ways, "from arena", arena, ours(arena, places.output.get()));
  add(ways, "to arena", here, ours(here, places.arena_output.get()));
  ways.push_back({"call", here, whole(here, "foreign")});
  ways.push_back({"in arena", arena, whole(arena, "arena")});
  ways.push_back({"MPI", here, [mpi] { return of_mpi(mpi()); }});
  return ways;
}

Ways WaysOfPlanes::barriers() {
  return {{"plane", nullptr, [this] { return plane_.barrier(next()); }},
          {"call", nullptr, [] { return barrier(); }},
          {"MPI", nullptr, [this] { return of_mpi(MPI_Barrier(comm_)); }}};
}

Ways WaysOfPlanes::allreduces(const Places& places, std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
  const auto ours = [this, count](std::byte* from, std::byte* to) {
    return [this, from, to, count] {
      const collective::Piece piece = {from, to, count};
      return plane_.allreduce({&piece, 1}, {.op = ReduceOp::kMax}, next());
    };
  };
  const auto whole = [bytes](std::byte* data, const std::string& where) {
    const std::string name = absl::StrCat("allreduce.", where, bytes);
    return [view = floats(data, bytes), name] {
      return allreduce_(view, {.name = name});
    };
  };
  return in_place(
      places, ours, whole, [this, data = places.input.get(), count] {
        return MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count),
                             MPI_FLOAT, MPI_SUM, comm_);
      });
}

Ways WaysOfPlanes::broadcasts(const Places& places, std::size_t bytes) {
  const auto ours = [this, bytes](std::byte* from, std::byte* to) {
    return [this, from, to, bytes] {
      return plane_.broadcast(from, to, bytes, 0, next());
    };
  };
  const auto whole = [bytes](std::byte* data, const std::string& where) {
    const std::string name = absl::StrCat("broadcast.", where, bytes);
    return [view = floats(data, bytes), name] {
      return broadcast_(view, 0, {.name = name});
    };
  };
  return in_place(
      places, ours, whole, [this, data = places.input.get(), bytes] {
        return MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, comm_);
      });
}

Ways WaysOfPlanes::allgathers(const Places& places, std::size_t bytes) {
  const std::vector<std::size_t> each(ranks(), bytes);
  const auto ours = [this, bytes, each](std::byte* from, std::byte* to) {
    return [this, from, to, bytes, each] {
      return plane_.allgather({from, bytes}, each, to, next());
    };
  };
  const auto whole = [bytes](std::byte* data, const std::string& where) {
    const std::string name = absl::StrCat("allgather.", where, bytes);
    return [view = floats(data, bytes), name] {
      return allgather(view, {.name = name}).status();
    };
  };
  return across(places, ours, whole,
                [this, from = places.input.get(), to = places.output.get(),
                 count = static_cast<int>(bytes)] {
                  return MPI_Allgather(from, count, MPI_BYTE, to, count,
                                       MPI_BYTE, comm_);
                });
}

Ways WaysOfPlanes::alltoalls(const Places& places, std::size_t bytes) {
  const std::vector<std::size_t> each(ranks(), bytes);
  const std::size_t all = bytes * ranks();
  const auto ours = [this, all, each](std::byte* from, std::byte* to) {
    return [this, from, to, all, each] {
      return plane_.alltoall({from, all}, each, to, each, next());
    };
  };
  const auto whole = [all](std::byte* data, const std::string& where) {
    const std::string name = absl::StrCat("alltoall.", where, all);
    return [view = floats(data, all), name] {
      return alltoall(view, {.name = name}).status();
    };
  };
  return across(places, ours, whole,
                [this, from = places.input.get(), to = places.output.get(),
                 count = static_cast<int>(bytes)] {
                  return MPI_Alltoall(from, count, MPI_BYTE, to, count,
                                      MPI_BYTE, comm_);
                });
}

Ways WaysOfPlanes::reducescatters(const Places& places, std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
  const std::vector<std::int64_t> each(ranks(), count);
  const std::size_t all = bytes * ranks();
  const auto ours = [this, count, each](std::byte* from, std::byte* to) {
    return [this, from, to, count, each] {
      const collective::Piece piece = {from, to, count * ranks_};
      return plane_.reducescatter({&piece, 1}, each, {.op = ReduceOp::kMax},
                                  next());
    };
  };
  const auto whole = [all](std::byte* data, const std::string& where) {
    const std::string name = absl::StrCat("reducescatter.", where, all);
    return [view = floats(data, all), name] {
      return reducescatter(view, {.name = name}).status();
    };
  };
  return across(places, ours, whole,
                [this, from = places.input.get(), to = places.output.get(),
                 count = static_cast<int>(count)] {
                  return MPI_Reduce_scatter_block(from, to, count, MPI_FLOAT,
                                                  MPI_SUM, comm_);
                });
}

}  // namespace hvd::benchmark
