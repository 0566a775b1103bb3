// SPDX-License-Identifier: Apache-2.0
// A rank with a fake GPU, as a process. GPU_RANK chooses the part:
//
//   "nccl"   sums by NCCL. In the third sum, the rank with HOROVOD_RANK=1 kills
//            itself when all have queued their parts in their streams; its own
//            stream hangs (FAKE_NCCL_FAULT).
//   "ipc"    the same in windows, where that rank's own stream hangs
//   "exits"  sums by NCCL, and exits without shutdown()
//
// The survivors continue, and print their observations.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"
#include "test/device/gpu_program.h"

namespace hvd {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Future<void> begin_sum(Runtime& job, GpuProgram& mine, const TensorView& x) {
  return job.allreduce_async_(
      x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()});
}

// Dies in a sum that all other ranks have entered.
void die(GpuProgram& mine, Future<void> sum, std::size_t launches) {
  // In a windows reduction the host waits for the end, so no rank reaches a
  // barrier. The kernel starts once all ranks have packed.
  while (mine.way() == Way::kIpc && testing::FakeCuda::launches() == launches) {
    std::this_thread::yield();
  }
  std::raise(SIGKILL);
  sum.wait().ignore_error();
}

Status go(Way way, bool dies) {
  Config config = *Config::from_env();
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> job, Runtime::start(config));
  auto& gpus = device::Gpus::of_process();
  gpus.look_for(config.cuda_library);
  const int size = job->topology().size();
  GpuProgram mine(job->topology().rank(), size, way);
  const TensorView x = mine.put(std::vector<float>(1000, 1));
  HVD_RETURN_IF_ERROR(begin_sum(*job, mine, x).wait());
  HVD_RETURN_IF_ERROR(begin_sum(*job, mine, x).wait());
  if (dies && way == Way::kIpc) {
    testing::FakeCuda::put(
        mine.stream(),
        [](void*) -> int {
          while (true) std::this_thread::sleep_for(std::chrono::hours(1));
        },
        nullptr);
  }
  const std::size_t launches = testing::FakeCuda::launches();
  const Future<void> third = begin_sum(*job, mine, x);
  if (way == Way::kNccl) {
    HVD_RETURN_IF_ERROR(third.wait(mine.stream()));
    // Other ranks may hear of the death before the barrier ends.
    job->barrier_async().wait().ignore_error();
  }
  if (dies) die(mine, third, launches);
  std::printf("heard: %s\n", std::string(third.wait().message()).c_str());
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> next, job->reform());
  const TensorView y = mine.put(std::vector<float>(1000, 1));
  HVD_RETURN_IF_ERROR(begin_sum(*next, mine, y).wait());
  std::printf("went on: %.0f of %d, %s\n", mine.get(y).back(),
              next->topology().size(),
              testing::FakeNccl::objects() > 0 ? "by NCCL" : "without");
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, gpus.driver());
  HVD_ASSIGN_OR_RETURN(auto memory, gpus.allocate(mine.gpu(), 64));
  memory.reset();
  std::printf("the GPU %s\n", testing::TestGpus::settle(*cuda)
                                  ? "has done all that it was given"
                                  : "hangs");
  return next->stop();
}

Status exit_early() {
  HVD_RETURN_IF_ERROR(init());
  device::Gpus::of_process().look_for(Config::from_env()->cuda_library);
  GpuProgram mine(rank(), size(), Way::kNccl);
  const TensorView x = mine.put(std::vector<float>(1000, 1));
  HVD_RETURN_IF_ERROR(begin_sum(current_runtime(), mine, x).wait());
  std::printf("summed, %s\n",
              testing::FakeNccl::objects() > 0 ? "by NCCL" : "without");
  return Status();
}

}  // namespace
}  // namespace hvd

int main() {
  const std::string what = hvd::variable("GPU_RANK");
  const hvd::Way way = what == "ipc" ? hvd::Way::kIpc : hvd::Way::kNccl;
  const hvd::Status status =
      what == "exits" ? hvd::exit_early()
                      : hvd::go(way, hvd::variable("HOROVOD_RANK") == "1");
  if (!status.ok())
    std::printf("failed: %s\n", std::string(status.message()).c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}
