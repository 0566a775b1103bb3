// SPDX-License-Identifier: Apache-2.0
// The CudaDriver is CUDA in this process: the driver's functions, the GPUs, and
// errors as text. It uses each GPU's primary context, which the CUDA runtime,
// and so every program on it, also uses.
//
//   HVD_ASSIGN_OR_RETURN(auto cuda, CudaDriver::load());
//   HVD_ASSIGN_OR_RETURN(const CudaContext context, cuda->context(0));
//   HVD_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::create(context));
//
// Thread-safe. It outlives every object created with it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_api.h"
#include "horovodpp/device/cuda_context.h"

namespace hvd::device {

class CudaDriver {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";
  // CUDA 11.4: the first version with all functions used here; the graph
  // functions came last.
  static constexpr int kOldestVersion = 11040;

  //   NotFound            there is no driver; the message names the file and
  //                       says what installs it
  //   FailedPrecondition  it is too old, or has no GPU
  static absl::StatusOr<std::unique_ptr<CudaDriver>> load(
      const std::string& file = kLibrary);

  ~CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  int devices() const { return devices_; }
  // 12040 is 12.4.
  int version() const { return version_; }
  // "NVIDIA H200".
  absl::StatusOr<std::string> name_of(int index) const;

  // Identifies the GPU among all GPUs, equal in every process.
  absl::StatusOr<CuUuid> uuid_of(int index) const;

  // The context of GPU `index`, created at the first call. Later calls take no
  // lock.
  //   InvalidArgument  there is no such GPU; says how many there are
  //   Internal         the driver refuses
  absl::StatusOr<CudaContext> context(int index);

  // The GPU that holds `memory`.
  //   InvalidArgument  CUDA does not know it, or it is pinned host memory
  absl::StatusOr<int> device_of(const void* memory) const;

  // Waits until all released GPU memory has been freed, and destroys spare
  // events. Returns whether that was done by the deadline.
  bool settle(std::chrono::steady_clock::time_point deadline);

 private:
  CudaDriver(const CudaApi& api, int version, int devices);

  const CudaApi api_;
  const int version_;
  const int devices_;
  // For each GPU; nullptr: not created.
  std::vector<std::atomic<const CudaContext*>> contexts_;
  Mutex mutex_;
  std::vector<std::unique_ptr<CudaUpkeep>> upkeeps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
