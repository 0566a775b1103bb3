// SPDX-License-Identifier: Apache-2.0
// mpi_peer: the time of plain MPI for a Work, without horovodpp.
//
//   mpirun -np 2 mpi_peer [FOLDER SECONDS WORK...]
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "test/benchmark/guarded_main.h"
#include "test/benchmark/peers/harness.h"

namespace hvd::benchmark {
namespace {

using Floats = std::vector<float>;

int size() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

int this_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

bool holds(const Floats& values, std::size_t first, std::size_t count,
           int value) {
  const auto expected = static_cast<float>(value);
  return count == 0 ||
         (values[first] == expected && values[first + count / 2] == expected &&
          values[first + count - 1] == expected);
}

// From `input` to `output`.
class MpiTask : public Task {
 public:
  using Call = std::function<void(Floats& input, Floats& output)>;
  using Check = std::function<bool(const Floats& input, const Floats& output)>;

  MpiTask(std::size_t inputs, std::size_t outputs, Call call, Check check)
      : input_(inputs),
        output_(outputs),
        call_(std::move(call)),
        check_(std::move(check)) {}

  void refill() override {
    std::fill(input_.begin(), input_.end(),
              static_cast<float>(this_rank() + 1));
  }
  void run() override { call_(input_, output_); }
  bool is_right() const override { return check_(input_, output_); }

 private:
  Floats input_;
  Floats output_;
  const Call call_;
  const Check check_;
};

using Made = std::unique_ptr<Task>;

void sum(float* data, std::size_t elements) {
  MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(elements), MPI_FLOAT,
                MPI_SUM, MPI_COMM_WORLD);
}

Made allreduce(const Work& work) {
  const std::size_t all = work.all_bytes() / sizeof(float);
  const bool is_fused = work.form == "fused";
  const std::size_t each = is_fused ? all : work.bytes / sizeof(float);
  return std::make_unique<MpiTask>(
      all, 0,
      [all, each](Floats& data, Floats&) {
        for (std::size_t at = 0; at < all; at += each) {
          sum(data.data() + at, each);
        }
      },
      [all](const Floats& data, const Floats&) {
        return holds(data, 0, all, size() * (size() + 1) / 2);
      });
}

Made allgather(const Work& work) {
  const std::size_t each = work.bytes / sizeof(float);
  return std::make_unique<MpiTask>(
      each, each * static_cast<std::size_t>(size()),
      [each](Floats& input, Floats& output) {
        MPI_Allgather(input.data(), static_cast<int>(each), MPI_FLOAT,
                      output.data(), static_cast<int>(each), MPI_FLOAT,
                      MPI_COMM_WORLD);
      },
      [each](const Floats&, const Floats& output) {
        const auto ranks = static_cast<std::size_t>(size());
        return holds(output, each * (ranks - 1), each, size());
      });
}

Made alltoall(const Work& work) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t each = work.bytes / sizeof(float) / ranks;
  return std::make_unique<MpiTask>(
      each * ranks, each * ranks,
      [each](Floats& input, Floats& output) {
        MPI_Alltoall(input.data(), static_cast<int>(each), MPI_FLOAT,
                     output.data(), static_cast<int>(each), MPI_FLOAT,
                     MPI_COMM_WORLD);
      },
      [each, ranks](const Floats&, const Floats& output) {
        return holds(output, each * (ranks - 1), each, size());
      });
}

Made broadcast(const Work& work) {
  const std::size_t each = work.bytes / sizeof(float);
  return std::make_unique<MpiTask>(
      each, 0,
      [each](Floats& data, Floats&) {
        MPI_Bcast(data.data(), static_cast<int>(each), MPI_FLOAT, 0,
                  MPI_COMM_WORLD);
      },
      [each](const Floats& data, const Floats&) {
        return holds(data, 0, each, 1);
      });
}

Made reducescatter(const Work& work) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t each = work.bytes / sizeof(float) / ranks;
  return std::make_unique<MpiTask>(
      each * ranks, each,
      [each](Floats& input, Floats& output) {
        MPI_Reduce_scatter_block(input.data(), output.data(),
                                 static_cast<int>(each), MPI_FLOAT, MPI_SUM,
                                 MPI_COMM_WORLD);
      },
      [each](const Floats&, const Floats& output) {
        return holds(output, 0, each, size() * (size() + 1) / 2);
      });
}

// Every rank copies, all at the same time.
Made copy(const Work& work) {
  const std::size_t each = work.bytes / sizeof(float);
  return std::make_unique<MpiTask>(
      each, each,
      [](Floats& input, Floats& output) {
        std::memcpy(output.data(), input.data(), input.size() * sizeof(float));
      },
      [each](const Floats&, const Floats& output) {
        return holds(output, 0, each, this_rank() + 1);
      });
}

Made barrier_task(const Work&) {
  return std::make_unique<MpiTask>(
      0, 0, [](Floats&, Floats&) { MPI_Barrier(MPI_COMM_WORLD); },
      [](const Floats&, const Floats&) { return true; });
}

class MpiSide : public Side {
 public:
  int rank() const override { return this_rank(); }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  double greatest(double of_this_rank) override {
    MPI_Allreduce(MPI_IN_PLACE, &of_this_rank, 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return of_this_rank;
  }

  std::unique_ptr<Task> make(const Work& work) override {
    using Maker = Made (*)(const Work&);
    static const std::vector<std::pair<std::string, Maker>> makers = {
        {"allreduce.each", allreduce}, {"allreduce.fused", allreduce},
        {"allgather.into", allgather}, {"alltoall.into", alltoall},
        {"broadcast.each", broadcast}, {"reducescatter.into", reducescatter},
        {"memory.copy", copy},         {"barrier.each", barrier_task}};
    for (const auto& [name, maker] : makers) {
      if (name == work.operation + "." + work.form) return maker(work);
    }
    return nullptr;
  }
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MpiSide side;
  float ranks = 1;
  sum(&ranks, 1);
  const int code = measure_all(side, argc, argv);
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  return hvd::benchmark::guarded_main(hvd::benchmark::main, argc, argv);
}
