// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/measure.h"

#include <time.h>

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::benchmark {
namespace {

// Lets the previous contender's background threads fall asleep.
constexpr std::chrono::microseconds kPause(300);

double microseconds_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 +
         static_cast<double>(time.tv_nsec) * 1e-3;
}

struct Sample {
  double us = 0;
  double cpu_us = 0;
};

// Times one call, starting at a barrier.
absl::StatusOr<Sample> call_once(Contender& contender, MPI_Comm comm) {
  contender.refill();
  MPI_Barrier(comm);
  const double cpu = microseconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const double start = microseconds_of(CLOCK_MONOTONIC);
  HVD_RETURN_IF_ERROR(contender.call());
  const double end = microseconds_of(CLOCK_MONOTONIC);
  return Sample{end - start, microseconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

absl::StatusOr<Sample> sample(const Workload& workload, Contender& contender,
                              MPI_Comm comm) {
  std::this_thread::sleep_for(kPause);
  Sample mean;
  for (int call = 0; call < workload.calls; ++call) {
    HVD_ASSIGN_OR_RETURN(const Sample one, call_once(contender, comm));
    mean.us += one.us / workload.calls;
    mean.cpu_us += one.cpu_us / workload.calls;
  }
  if (!contender.is_right()) {
    return absl::InternalError(absl::StrCat(
        workload.name, ", ", contender.name(), ": the result is wrong"));
  }
  return mean;
}

// Combines the ranks' samples: the greatest time, the mean processor time.
Measured gather(const std::string& contender,
                const std::vector<Sample>& samples, MPI_Comm comm) {
  std::vector<double> us;
  std::vector<double> cpu_us;
  for (const Sample& one : samples) {
    us.push_back(one.us);
    cpu_us.push_back(one.cpu_us);
  }
  const int count = static_cast<int>(samples.size());
  MPI_Allreduce(MPI_IN_PLACE, us.data(), count, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Allreduce(MPI_IN_PLACE, cpu_us.data(), count, MPI_DOUBLE, MPI_SUM, comm);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  return {.contender = contender,
          .us = quartiles(std::move(us)),
          .cpu_us = quartiles(std::move(cpu_us)).median / ranks};
}

}  // namespace

absl::StatusOr<std::vector<Measured>> measure(
    const Workload& workload,
    const std::vector<std::unique_ptr<Contender>>& contenders, MPI_Comm comm) {
  const std::size_t count = contenders.size();
  std::vector<std::vector<Sample>> samples(count);
  for (int round = -workload.warm_ups; round < workload.repeats; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      // Each round starts with another contender.
      const std::size_t i =
          (turn + static_cast<std::size_t>(round + workload.warm_ups)) % count;
      HVD_ASSIGN_OR_RETURN(const Sample one,
                           sample(workload, *contenders[i], comm));
      if (round >= 0) samples[i].push_back(one);
    }
  }
  std::vector<Measured> measured;
  for (std::size_t i = 0; i < count; ++i) {
    measured.push_back(gather(contenders[i]->name(), samples[i], comm));
  }
  return measured;
}

}  // namespace hvd::benchmark
