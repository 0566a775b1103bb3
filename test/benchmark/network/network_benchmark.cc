// SPDX-License-Identifier: Apache-2.0
// network_benchmark: the time of a message, a transfer and an allreduce between
// two ranks on different hosts, by horovodpp's communicators and by MPI.
//
//   mpirun -np 2 -H HOST,HOST network_benchmark [--only PATTERN] [--rounds N]
//
// on_two_hosts.py starts it on two network namespaces of this machine.
// Contenders take turns. A message's time is half of the time from sending one
// to receiving one back. The output has the median of the rounds, the least,
// and in parentheses the ratios of both to MPI's.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <regex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/loading/ucx_module.h"
#include "horovodpp/transport/tcp/communicator.h"
#include "horovodpp/transport/tcp/endpoint.h"
#include "horovodpp/transport/tcp/job_key.h"
#include "test/benchmark/guarded_main.h"
#include "test/benchmark/network/contender.h"
#include "test/benchmark/quartiles.h"

namespace hvd::benchmark {
namespace {

struct Options {
  std::string only = {};
  int rounds = 30;
  std::size_t most_bytes = std::size_t{64} << 20;
  double seconds = 0.004;  // Of one contender's turn.
};

// Between two turns.
constexpr std::chrono::milliseconds kPause(4);

using Contenders = std::vector<std::unique_ptr<NetworkContender>>;

class Bench {
 public:
  Bench(const Options& options, const Contenders& contenders, MPI_Comm comm)
      : options_(options),
        only_(options.only),
        contenders_(contenders),
        comm_(comm),
        memory_(options.most_bytes) {
    MPI_Comm_rank(comm_, &rank_);
  }

  void run() {
    for (std::size_t bytes = 64; bytes <= options_.most_bytes; bytes *= 4) {
      const std::span data(memory_.data(), bytes);
      row("mail", bytes, 0.5,
          [bytes](NetworkContender& one) { one.bounce_mail(bytes); });
      row("transfer", bytes, 0.5,
          [data](NetworkContender& one) { one.bounce(data); });
      row("allreduce", bytes, 1,
          [data](NetworkContender& one) { one.allreduce(data); });
    }
  }

 private:
  using Call = std::function<void(NetworkContender&)>;

  // Microseconds of a call on the slower rank. The pause lets other programs use
  // the cores, which would otherwise take them during the calls.
  double time(const Call& call, NetworkContender& one, int calls) const {
    using Clock = std::chrono::steady_clock;
    std::this_thread::sleep_for(kPause);
    call(one);
    MPI_Barrier(comm_);
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call(one);
    double us =
        std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return us / calls;
  }

  void row(const std::string& what, std::size_t bytes, double factor,
           const Call& call) const {
    const std::string name = absl::StrCat(what, " ", bytes);
    if (!std::regex_search(name, only_)) return;
    // The number of calls in a turn is the same for all.
    const double one = std::min(time(call, *contenders_.back(), 1),
                                time(call, *contenders_.back(), 1));
    const int calls =
        static_cast<int>(std::clamp(options_.seconds * 1e6 / one, 1.0, 1000.0));
    std::vector<std::vector<double>> times(contenders_.size());
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < contenders_.size(); ++i) {
        times[i].push_back(factor * time(call, *contenders_[i], calls));
      }
    }
    if (rank_ == 0) tell(name, times);
  }

  void tell(const std::string& name,
            const std::vector<std::vector<double>>& times) const {
    std::printf("%-20s", name.c_str());
    const auto median = [&](std::size_t i) {
      return quartiles(times[i]).median;
    };
    const auto least = [&](std::size_t i) {
      return *std::min_element(times[i].begin(), times[i].end());
    };
    const std::size_t mpi = times.size() - 1;
    for (std::size_t i = 0; i < times.size(); ++i) {
      std::printf("  %s %10.2f us (%.2f), least %10.2f (%.2f)",
                  contenders_[i]->name().c_str(), median(i),
                  median(i) / median(mpi), least(i), least(i) / least(mpi));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  const Options options_;
  const std::regex only_;
  const Contenders& contenders_;
  const MPI_Comm comm_;
  std::vector<std::byte> memory_;
  int rank_ = 0;
};

// Rank 0's value, on all ranks.
std::string told_by_rank_0(std::string text, MPI_Comm comm) {
  int bytes = static_cast<int>(text.size());
  MPI_Bcast(&bytes, 1, MPI_INT, 0, comm);
  text.resize(static_cast<std::size_t>(bytes));
  MPI_Bcast(text.data(), bytes, MPI_CHAR, 0, comm);
  return text;
}

std::unique_ptr<transport::Communicator> meet_by_tcp(int rank, MPI_Comm comm) {
  std::string server;
  std::string key;
  if (rank == 0) {
    const auto listener = value_or_throw(transport::listen_at({}));
    server = to_string(listener.endpoints.front());
    key = value_or_throw(transport::JobKey::random()).to_hex();
  }
  return value_or_throw(transport::make_tcp_communicator(
      {.server = told_by_rank_0(server, comm),
       .key = told_by_rank_0(key, comm),
       .rank = rank,
       .size = 2,
       .ranks_per_node = 1,
       .deadline =
           std::chrono::steady_clock::now() + std::chrono::seconds(30)}));
}

int main(int argc, char** argv) {
  CLI::App app("Messages and allreduces between two hosts.");
  Options options;
  app.add_option("--only", options.only, "rows whose name matches");
  app.add_option("--rounds", options.rounds, "of which the median is told");
  app.add_option("--most-bytes", options.most_bytes, "of the largest row");
  app.add_option("--seconds", options.seconds, "of one contender's turn");
  CLI11_PARSE(app, argc, argv);

  MPI_Init(&argc, &argv);
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (ranks != 2) {
    throw_if_error(absl::InvalidArgumentError("start this program in 2 ranks"));
  }
  {
    Contenders contenders;
    contenders.push_back(std::make_unique<OverCommunicator>(
        "TCP", meet_by_tcp(rank, MPI_COMM_WORLD)));
    auto ucx =
        transport::make_ucx_communicator(meet_by_tcp(rank, MPI_COMM_WORLD), {});
    if (ucx.ok()) {
      contenders.push_back(
          std::make_unique<OverCommunicator>("UCX", *std::move(ucx)));
    } else if (rank == 0) {
      std::printf("without UCX: %s\n", ucx.status().ToString().c_str());
    }
    contenders.push_back(std::make_unique<OverMpi>(MPI_COMM_WORLD));
    Bench(options, contenders, MPI_COMM_WORLD).run();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  return hvd::benchmark::guarded_main(hvd::benchmark::main, argc, argv);
}
