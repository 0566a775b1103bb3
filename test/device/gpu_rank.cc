// SPDX-License-Identifier: Apache-2.0
// A rank with a GPU of the stand-in, as a process. It sums by NCCL; in the third sum the
// rank with HOROVOD_RANK=1 kills itself when all have put their parts into their streams
// (and its own hangs there: FAKE_NCCL_FAULT). Those that are left go on, and print what
// they have seen.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/status.h"
#include "test/device/gpu_program.h"

namespace hvd {
namespace {

Future<void> begin_sum(Runtime& job, GpuProgram& mine, const TensorView& x) {
  return job.allreduce_async_(
      x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()});
}

Status go(bool dies) {
  Config config = *Config::from_env();
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> job, Runtime::start(config));
  device::Gpus::of_process().look_for(config.cuda_library);
  const int size = job->topology().size();
  GpuProgram mine(job->topology().rank(), size, Way::kNccl);
  const TensorView x = mine.put(std::vector<float>(1000, 1));
  HVD_RETURN_IF_ERROR(begin_sum(*job, mine, x).wait());
  HVD_RETURN_IF_ERROR(begin_sum(*job, mine, x).wait());
  const Future<void> third = begin_sum(*job, mine, x);
  HVD_RETURN_IF_ERROR(third.wait(mine.stream()));
  // The others may hear of the death before they hear of the barrier.
  job->barrier_async().wait().ignore_error();
  if (dies) std::raise(SIGKILL);
  std::printf("heard: %s\n", std::string(third.wait().message()).c_str());
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> next, job->reform());
  const TensorView y = mine.put(std::vector<float>(1000, 1));
  HVD_RETURN_IF_ERROR(begin_sum(*next, mine, y).wait());
  std::printf("went on: %.0f of %d, %s\n", mine.get(y).back(),
              next->topology().size(),
              testing::FakeNccl::objects() > 0 ? "by NCCL" : "without");
  return next->stop();
}

}  // namespace
}  // namespace hvd

int main() {
  const char* const rank = std::getenv("HOROVOD_RANK");
  const hvd::Status status = hvd::go(rank != nullptr && *rank == '1');
  if (!status.ok())
    std::printf("failed: %s\n", std::string(status.message()).c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}
