// SPDX-License-Identifier: Apache-2.0
// The Gpus of a process: the CUDA driver, loaded when it is first needed, so that a
// program without tensors on a GPU never touches one.
//
//   HVD_ASSIGN_OR_RETURN(CudaDriver* cuda, gpus.driver());
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"

namespace hvd::device {

class Gpus {
 public:
  explicit Gpus(std::string driver_file = CudaDriver::kLibrary)
      : file_(std::move(driver_file)) {}

  // Those that all jobs of this process use. It is never destroyed: what lies on a
  // GPU may be let go while the process ends.
  static Gpus& of_process();

  // Before the driver is loaded for the first time; without effect afterwards.
  void look_for(const std::string& driver_file);

  // Never nullptr, and valid as long as this.
  //   (errors)  those of CudaDriver::load(), the same each time
  absl::StatusOr<CudaDriver*> driver();

  // Of GPU `index`, loaded when they are first asked for; as driver().
  //   (errors)  those of driver(), CudaDriver::context() and CudaKernels::load()
  absl::StatusOr<const CudaKernels*> kernels(int index);

  // Memory on GPU `index`, as allocate_on().
  //   (errors)  those of driver(), CudaDriver::context() and allocate_on()
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(int index,
                                                      std::size_t bytes);

 private:
  using Loaded = absl::StatusOr<std::unique_ptr<CudaDriver>>;
  // A driver may compile them for a minute: only those who ask for them wait.
  struct KernelsOfGpu {
    Mutex mutex;
    std::optional<absl::StatusOr<std::unique_ptr<CudaKernels>>> loaded
        ABSL_GUARDED_BY(mutex);
  };
  KernelsOfGpu& kernels_of(int index);

  Mutex mutex_;
  std::string file_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<const Loaded> loaded_ ABSL_GUARDED_BY(mutex_);
  std::map<int, KernelsOfGpu> kernels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
