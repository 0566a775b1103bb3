// SPDX-License-Identifier: Apache-2.0
// The Gpus of a process: the CUDA driver, loaded at its first use, so that a
// program without tensors on a GPU never loads it.
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
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"

namespace hvd::device {

class Gpus {
 public:
  explicit Gpus(std::string driver_file = CudaDriver::kLibrary)
      : file_(std::move(driver_file)) {}

  // The Gpus of all jobs of this process. Never destroyed: GPU memory may be
  // released while the process ends.
  static Gpus& of_process();

  // Sets the driver's file, before the driver is first loaded; without effect
  // afterwards.
  void look_for(const std::string& driver_file);

  // Never nullptr, and valid as long as this object.
  //   (errors)  of CudaDriver::load(), the same each time
  absl::StatusOr<CudaDriver*> driver();

  // The kernels of GPU `index`, loaded at the first call; as driver().
  //   (errors)  of driver(), CudaDriver::context() and CudaKernels::load()
  absl::StatusOr<const CudaKernels*> kernels(int index);

  // Memory on GPU `index`, as allocate_on().
  //   (errors)  of driver(), CudaDriver::context() and allocate_on()
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(int index,
                                                      std::size_t bytes);

 private:
  using Loaded = absl::StatusOr<std::unique_ptr<CudaDriver>>;
  // A driver may compile the kernels for a minute; only callers that need them
  // wait.
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
