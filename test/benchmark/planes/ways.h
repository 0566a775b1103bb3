// SPDX-License-Identifier: Apache-2.0
// The ways in which planes_benchmark makes one collective: by the shm plane
// alone, by a whole call of the runtime, and by MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/transport/waiting.h"
#include "test/benchmark/memory.h"

namespace hvd::benchmark {

struct Way {
  std::string name;
  std::byte* input = nullptr;  // Written before large calls.
  std::function<absl::Status()> call = {};
};
using Ways = std::vector<Way>;

// Inputs and outputs of ordinary memory, and in the arena.
struct Places {
  Places(std::size_t input_bytes, std::size_t output_bytes);

  Memory input, output;
  Memory arena_input, arena_output;
};

class WaysOfPlanes {
 public:
  // With each of `crossovers` the plane is a separate way. The last way of each
  // collective is MPI's.
  WaysOfPlanes(collective::ShmBoard& board, collective::ShmPlane& plane,
               std::vector<collective::ShmCrossovers> crossovers,
               MPI_Comm comm);

  Ways barriers();
  // `bytes` on every rank, in place.
  Ways allreduces(const Places& places, std::size_t bytes);
  Ways broadcasts(const Places& places, std::size_t bytes);
  // `bytes` between any two ranks, from one place to another.
  Ways allgathers(const Places& places, std::size_t bytes);
  Ways alltoalls(const Places& places, std::size_t bytes);
  Ways reducescatters(const Places& places, std::size_t bytes);

 private:
  using Call = std::function<absl::Status()>;
  // A call from one place to another, or in place.
  using Between = std::function<Call(std::byte* from, std::byte* to)>;

  class Never : public transport::Interrupt {
   public:
    absl::Status check() override { return absl::OkStatus(); }
  };

  collective::Call next() {
    return {{.epoch = 1, .sequence = sequence_++}, never_, true};
  }
  std::size_t ranks() const { return static_cast<std::size_t>(ranks_); }

  // Adds the plane's way, once for each of the crossovers.
  void add(Ways& ways, const std::string& name, std::byte* input,
           const Call& call) const;
  // Makes a call of the runtime by name; empty: the runtime has no such call.
  using Whole = std::function<Call(std::byte* data, const std::string& name)>;
  Ways in_place(const Places& places, const Between& ours, const Whole& whole,
                const std::function<int()>& mpi) const;
  Ways across(const Places& places, const Between& ours, const Whole& whole,
              const std::function<int()>& mpi) const;

  collective::ShmBoard& board_;
  collective::ShmPlane& plane_;
  const std::vector<collective::ShmCrossovers> crossovers_;
  const MPI_Comm comm_;
  int ranks_ = 1;
  std::uint32_t sequence_ = 1;
  Never never_;
};

}  // namespace hvd::benchmark
